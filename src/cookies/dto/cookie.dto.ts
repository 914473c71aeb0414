import { ApiClosed } from '../../openapi/closed.decorator.js';
import { RecordOf } from '../../resource/record-of.js';
import { CreateCookieDto } from './create-cookie.dto.js';

/** A cookie as the service responds with it: these four properties and no others. */
@ApiClosed()
export class CookieDto extends RecordOf(CreateCookieDto) {}
