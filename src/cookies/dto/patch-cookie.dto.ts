import { PartialType } from '@nestjs/swagger';
import { ReplaceCookieDto } from './replace-cookie.dto.js';

/** The body of a PATCH: an absent property stays as it is; `null` is not allowed. */
export class PatchCookieDto extends PartialType(ReplaceCookieDto, { skipNullProperties: false }) {}
