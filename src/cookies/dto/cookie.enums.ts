import { getSchemaPath } from '@nestjs/swagger';
import { FLAVORS, SIZES, SORTS } from '../cookie.values.js';

// With the resource in their names: another feature may have sizes and sorts of its own.

/** The flavor of a cookie, in the document. */
export const FLAVOR = {
  enum: FLAVORS,
  enumName: 'CookieFlavor',
  enumSchema: { description: 'The flavor of a cookie', example: 'vanilla' },
} as const;

/** The size of a cookie, in the document. */
export const SIZE = {
  enum: SIZES,
  enumName: 'CookieSize',
  enumSchema: { description: 'The size of a cookie', example: 'small' },
} as const;

/** The order of a list; the values make no names, so generators are given some. */
export const SORT = {
  enum: SORTS,
  enumName: 'CookieSort',
  enumSchema: { default: 'id', 'x-enum-varnames': ['IdAscending', 'IdDescending'] },
} as const;

/** Refers to one of these where it is part of another schema; `@nestjs/swagger` drops what stands beside a named enum. */
export function referenceTo({ enumName }: { readonly enumName: string }): { $ref: string } {
  return { $ref: getSchemaPath(enumName) };
}
