import { ResourceName } from '../resource/resource.js';

export const COOKIE = new ResourceName('cookie');

export const FLAVORS = ['chocolate', 'vanilla', 'cinnamon'] as const;
export const SIZES = ['small', 'medium', 'large'] as const;
/** Largest length of a wish in Unicode code points. */
export const WISH_LENGTH = 255;

export type Flavor = (typeof FLAVORS)[number];
export type Size = (typeof SIZES)[number];
