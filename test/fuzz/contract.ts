/** The contract on bodies, ids and queries, written independently of the service. */

export const FLAVORS = ['chocolate', 'vanilla', 'cinnamon'];
export const SIZES = ['small', 'medium', 'large'];
export const MAX_ID = 9007199254740991n;

const isMember = (value: unknown, values: string[]): boolean => typeof value === 'string' && values.includes(value);

const isWish = (value: unknown): boolean => typeof value === 'string' && /^[^\0\p{Surrogate}]{1,255}$/su.test(value);

const CHECKS: Record<string, (value: unknown) => boolean> = {
  flavor: (value) => isMember(value, FLAVORS),
  size: (value) => isMember(value, SIZES),
  wish: isWish,
};

/** Tells whether a body has all `required` properties and only `allowed` ones. */
export function accepts(bytes: Uint8Array, allowed: readonly string[], required: readonly string[]): boolean {
  const value = parsed(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const names = Object.keys(value);
  return (
    names.every((name) => allowed.includes(name) && CHECKS[name]!((value as Record<string, unknown>)[name])) &&
    required.every((name) => names.includes(name))
  );
}

/** The JSON value of a body; `undefined` if it is not JSON in UTF-8. */
export function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

export const isId = (text: string): boolean => /^[1-9][0-9]*$/.test(text) && BigInt(text) <= MAX_ID;

const isNatural = (text: string, max: bigint): boolean => /^(0|[1-9][0-9]*)$/.test(text) && BigInt(text) <= max;

const PARAMETERS: Record<string, (value: string) => boolean> = {
  limit: (value) => isNatural(value, 1000n) && value !== '0',
  after: (value) => isNatural(value, MAX_ID),
  sort: (value) => value === 'id' || value === '-id',
  flavor: (value) => FLAVORS.includes(value),
  size: (value) => SIZES.includes(value),
};

/** Tells whether the query of a list may have these names and values. */
export function acceptsQuery(query: readonly (readonly [name: string, value: string])[]): boolean {
  const timesOf = (wanted: string): number => query.filter(([name]) => name === wanted).length;
  return (
    query.every(([name, value]) => Object.hasOwn(PARAMETERS, name) && PARAMETERS[name]!(value)) &&
    ['limit', 'after', 'sort'].every((name) => timesOf(name) <= 1) &&
    new Set(query.map((pair) => pair.join('='))).size === query.length
  );
}
