import { PartialType } from '@nestjs/swagger';
import { ReplaceCookieDto } from './replace-cookie.dto.js';

/** The body of PATCH. Absent properties do not change; `null` is invalid. */
export class PatchCookieDto extends PartialType(ReplaceCookieDto, { skipNullProperties: false }) {}
