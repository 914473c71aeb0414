import { ApiClosed } from '../../openapi/closed.decorator.js';
import { RecordOf } from '../../resource/properties.js';
import { CreateCookieDto } from './create-cookie.dto.js';

/** A cookie in a response, with these four properties only. */
@ApiClosed()
export class CookieDto extends RecordOf(CreateCookieDto) {}
