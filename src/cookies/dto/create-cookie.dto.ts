import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { IsText, TEXT_PATTERN } from '../../http/validation/text.decorator.js';
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
  @IsText(1, WISH_LENGTH)
  wish!: string;
}
