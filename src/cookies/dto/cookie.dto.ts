import { PartialType, PickType } from '@nestjs/swagger';
import { ApiClosed } from '../../openapi/closed.decorator.js';
import { EnumFilter, ListQueryOf } from '../../resource/lists/list-query.js';
import { EnumProperty, RecordOf, TextProperty } from '../../resource/properties.js';
import { COOKIE, type Flavor, FLAVORS, type Size, SIZES, WISH_LENGTH } from '../cookie.values.js';

// The names of the enums have the prefix `Cookie`, because other features may have sizes, too.

const FLAVOR = {
  enum: FLAVORS,
  enumName: 'CookieFlavor',
  enumSchema: { description: 'The flavor of a cookie', example: 'vanilla' },
} as const;

const SIZE = {
  enum: SIZES,
  enumName: 'CookieSize',
  enumSchema: { description: 'The size of a cookie', example: 'small' },
} as const;

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

/** The body of PUT. The wish is not part of it and does not change. */
export class ReplaceCookieDto extends PickType(CreateCookieDto, ['flavor', 'size'] as const) {}

/** The body of PATCH. Absent properties do not change; `null` is invalid. */
export class PatchCookieDto extends PartialType(ReplaceCookieDto, { skipNullProperties: false }) {}

/** A cookie in a response, with no other properties. */
@ApiClosed()
export class CookieDto extends RecordOf(CreateCookieDto) {}

export class ListCookiesQuery extends ListQueryOf(COOKIE) {
  @EnumFilter(FLAVOR, 'Only these flavors; repeat it for "or".')
  flavor?: Flavor[];

  @EnumFilter(SIZE, 'Only these sizes; repeat it for "or".')
  size?: Size[];
}
