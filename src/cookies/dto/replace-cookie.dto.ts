import { PickType } from '@nestjs/swagger';
import { CreateCookieDto } from './create-cookie.dto.js';

/** The body of PUT. The wish is not part of it and does not change. */
export class ReplaceCookieDto extends PickType(CreateCookieDto, ['flavor', 'size'] as const) {}
