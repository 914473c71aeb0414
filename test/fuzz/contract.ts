/** The contract on bodies, written independently of the service. */

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
