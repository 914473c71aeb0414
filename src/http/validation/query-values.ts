import { Transform } from 'class-transformer';

/** Parses a decimal number from 0 to 2^53-1 without sign or leading zeros; `undefined` for any other text. */
export function parseNatural(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** Reads a query parameter as a whole number. Other values, also arrays, are left for the validators to reject. */
export function QueryInteger(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => integerOf(value));
}

/**
 * Reads a query parameter that may be repeated as an array of its values.
 * @param parse converts a value; if it returns `undefined`, the value stays a string
 */
export function QueryArray(parse: (text: string) => unknown = () => undefined): PropertyDecorator {
  const valueOf = (value: unknown): unknown => (typeof value === 'string' ? (parse(value) ?? value) : value);
  return Transform(({ value }: { value: unknown }) => (value === undefined ? undefined : [value].flat().map(valueOf)));
}

function integerOf(value: unknown): unknown {
  return typeof value === 'string' ? (parseNatural(value) ?? value) : value;
}
