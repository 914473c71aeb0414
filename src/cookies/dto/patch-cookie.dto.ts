import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { MayBeAbsent } from '../../http/may-be-absent.decorator.js';
import { type Flavor, FLAVORS, type Size, SIZES } from '../cookie.values.js';
import { FLAVOR, SIZE } from './cookie.enums.js';

/** What PATCH changes; a member that is absent stays as it is, and none may be `null`. */
export class PatchCookieDto {
  @ApiPropertyOptional(FLAVOR)
  @MayBeAbsent()
  @IsIn(FLAVORS)
  flavor?: Flavor;

  @ApiPropertyOptional(SIZE)
  @MayBeAbsent()
  @IsIn(SIZES)
  size?: Size;
}
