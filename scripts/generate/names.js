/** Names in the forms in which code, URLs and sentences have them. */

/** `giftCard` or `gift-card` as `gift-card`. @param {string} name */
export const kebab = (name) => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();

/** `gift-card` or `giftCard` as `GiftCard`. @param {string} name */
export const pascal = (name) => kebab(name).split('-').map(capitalized).join('');

/** `gift-card` as `giftCard`. @param {string} name */
export const camel = (name) => pascal(name).replace(/^./, (first) => first.toLowerCase());

/** `gift-card` or `giftCard` as `GIFT_CARD`. @param {string} name */
export const constant = (name) => kebab(name).replaceAll('-', '_').toUpperCase();

/** `gift-card` or `giftCard` as `gift card`. @param {string} name */
export const words = (name) => kebab(name).replaceAll('-', ' ');

/** @param {string} word */
const capitalized = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** English plural endings, special ones first. `--singular` overrides them. */
const SINGULARS = /** @type {const} */ ([
  [/(cook|mov)ies$/, '$1ie'],
  [/([^aeiou])ies$/, '$1y'],
  [/(ss|x|tch|nch|rch|sh|zz)es$/, '$1'],
  [/(stat|b|vir|camp|bon)uses$/, '$1us'],
  [/([^s])s$/, '$1'],
]);

const PLURALS = /** @type {const} */ ([
  [/([^aeiou])y$/, '$1ies'],
  [/(s|x|ch|sh|zz)$/, '$1es'],
  [/$/, 's'],
]);

/** @param {string} plural @returns {string | undefined} `undefined` if it has no plural ending */
export function singularOf(plural) {
  const rule = SINGULARS.find(([ending]) => ending.test(plural));
  return rule && !/(us|is|series|species|news)$/.test(plural) ? plural.replace(...rule) : undefined;
}

/** @param {string} singular */
export function pluralOf(singular) {
  const rule = PLURALS.find(([ending]) => ending.test(singular));
  return rule === undefined ? singular : singular.replace(...rule);
}

/** With its article: `an order`. @param {string} name */
export const indefinite = (name) => `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${words(name)}`;
