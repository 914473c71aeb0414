import { ApiProperty } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { IsText } from '../../http/text.decorator.js';
import { type Flavor, FLAVORS, type Size, SIZES, WISH_LENGTH } from '../cookie.values.js';

export class CreateCookieDto {
  @ApiProperty({ enum: FLAVORS, example: 'vanilla' })
  @IsIn(FLAVORS)
  flavor!: Flavor;

  @ApiProperty({ enum: SIZES, example: 'small' })
  @IsIn(SIZES)
  size!: Size;

  @ApiProperty({
    minLength: 1,
    maxLength: WISH_LENGTH,
    description: 'Unicode code points, without NUL and lone surrogates',
    example: 'May your tests be green',
  })
  @IsText(1, WISH_LENGTH)
  wish!: string;
}
