import { PickType } from '@nestjs/swagger';
import { CreateCookieDto } from './create-cookie.dto.js';

/** What PUT replaces. The wish is not part of it and stays as it is. */
export class ReplaceCookieDto extends PickType(CreateCookieDto, ['flavor', 'size'] as const) {}
