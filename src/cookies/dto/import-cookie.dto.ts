import { IsInt, Max, Min } from 'class-validator';
import { MayBeAbsent } from '../../http/may-be-absent.decorator.js';
import { CreateCookieDto } from './create-cookie.dto.js';

const idFault = { message: `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}` };

/** A cookie as it comes from elsewhere: what POST takes, and the id that it had there. */
export class ImportCookieDto extends CreateCookieDto {
  @MayBeAbsent()
  @IsInt(idFault)
  @Min(1, idFault)
  @Max(Number.MAX_SAFE_INTEGER, idFault)
  id?: number;
}
