import { PickType } from '@nestjs/swagger';
import { CreateCookieDto } from './create-cookie.dto.js';

/** The body of a PUT. It has no wish; the stored wish stays. */
export class ReplaceCookieDto extends PickType(CreateCookieDto, ['flavor', 'size'] as const) {}
