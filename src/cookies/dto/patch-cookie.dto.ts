import { PartialType } from '@nestjs/swagger';
import { ReplaceCookieDto } from './replace-cookie.dto.js';

/** What PATCH changes; a property that is absent stays as it is, and none may be `null`. */
export class PatchCookieDto extends PartialType(ReplaceCookieDto, { skipNullProperties: false }) {}
