import { EnumProperty, TextProperty } from '../../resource/properties.js';
import { type Flavor, type Size, WISH_LENGTH } from '../cookie.values.js';
import { FLAVOR, SIZE } from './cookie.enums.js';

export class CreateCookieDto {
  @EnumProperty(FLAVOR)
  flavor!: Flavor;

  @EnumProperty(SIZE)
  size!: Size;

  @TextProperty(1, WISH_LENGTH, {
    description: 'Unicode code points, without NUL and lone surrogates',
    example: 'May your tests be green',
  })
  wish!: string;
}
