import { ApiProperty } from '@nestjs/swagger';
import { type Flavor, FLAVORS, type Size, SIZES, WISH_LENGTH } from '../cookie.values.js';

/** A cookie as the service answers it: these four members and no others. */
export class CookieDto {
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, example: 1 })
  id!: number;

  @ApiProperty({ enum: FLAVORS, example: 'vanilla' })
  flavor!: Flavor;

  @ApiProperty({ enum: SIZES, example: 'small' })
  size!: Size;

  @ApiProperty({ minLength: 1, maxLength: WISH_LENGTH, example: 'May your tests be green' })
  wish!: string;
}
