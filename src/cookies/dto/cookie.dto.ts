import { ApiProperty } from '@nestjs/swagger';
import { ApiClosed } from '../../http/openapi/closed.decorator.js';
import { RECORD_ID } from '../../resource/record-id.js';
import { type Flavor, type Size, WISH_LENGTH } from '../cookie.values.js';
import { FLAVOR, SIZE } from './cookie.enums.js';

/** A cookie as the service responds with it: these four properties and no others. */
@ApiClosed()
export class CookieDto {
  @ApiProperty(RECORD_ID)
  id!: number;

  @ApiProperty(FLAVOR)
  flavor!: Flavor;

  @ApiProperty(SIZE)
  size!: Size;

  @ApiProperty({ minLength: 1, maxLength: WISH_LENGTH, example: 'May your tests be green' })
  wish!: string;
}
