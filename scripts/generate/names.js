/** Converts `giftCard` or `gift-card` to the forms of code, URLs and sentences, such as `gift-card`, `GIFT_CARD`. */

export const kebab = (name) => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();

export const pascal = (name) => kebab(name).replaceAll(/(?:^|-)./g, (start) => start.at(-1).toUpperCase());

export const camel = (name) => pascal(name).replace(/^./, (first) => first.toLowerCase());

export const constant = (name) => kebab(name).replaceAll('-', '_').toUpperCase();

export const words = (name) => kebab(name).replaceAll('-', ' ');

/** English plural endings, special ones first. `--singular` overrides them. */
const SINGULARS = [
  [/(cook|mov)ies$/, '$1ie'],
  [/([^aeiou])ies$/, '$1y'],
  [/(ss|x|tch|nch|rch|sh|zz)es$/, '$1'],
  [/(stat|b|vir|camp|bon)uses$/, '$1us'],
  [/([^s])s$/, '$1'],
];

const PLURALS = [
  [/([^aeiou])y$/, '$1ies'],
  [/(s|x|ch|sh|zz)$/, '$1es'],
  [/$/, 's'],
];

/** @returns `undefined` if the name has no plural ending */
export function singularOf(plural) {
  const rule = SINGULARS.find(([ending]) => ending.test(plural));
  return rule && !/(us|is|series|species|news)$/.test(plural) ? plural.replace(...rule) : undefined;
}

export const pluralOf = (singular) => singular.replace(...PLURALS.find(([ending]) => ending.test(singular)));

/** The name with its article: `an order`. */
export const indefinite = (name) => `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${words(name)}`;
