import { FLAVORS, SIZES } from '../cookie.values.js';

// The names have the prefix `Cookie`, because other features may have sizes, too.

/** The flavor in the document. */
export const FLAVOR = {
  enum: FLAVORS,
  enumName: 'CookieFlavor',
  enumSchema: { description: 'The flavor of a cookie', example: 'vanilla' },
} as const;

/** The size in the document. */
export const SIZE = {
  enum: SIZES,
  enumName: 'CookieSize',
  enumSchema: { description: 'The size of a cookie', example: 'small' },
} as const;
