import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { IsCodePointLength, TEXT_PATTERN } from '../../http/validation/is-code-point-length.decorator.js';
import { type Flavor, FLAVORS, type Size, SIZES, WISH_LENGTH } from '../cookie.values.js';
import { FLAVOR, SIZE } from './cookie.enums.js';

export class CreateCookieDto {
  @ApiProperty(FLAVOR)
  @IsIn(FLAVORS)
  flavor!: Flavor;

  @ApiProperty(SIZE)
  @IsIn(SIZES)
  size!: Size;

  @ApiProperty({
    minLength: 1,
    maxLength: WISH_LENGTH,
    pattern: TEXT_PATTERN,
    description: 'Unicode code points, without NUL and lone surrogates',
    example: 'May your tests be green',
  })
  @IsCodePointLength(1, WISH_LENGTH)
  wish!: string;
}
