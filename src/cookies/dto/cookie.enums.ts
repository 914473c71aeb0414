import { FLAVORS, SIZES } from '../cookie.values.js';

// With the resource in their names: another feature may have sizes of its own.

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
