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

/** Reads a query parameter that may be repeated as an array of its values. */
export function QueryArray(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (value === undefined ? undefined : [value].flat()));
}

/** Reads a query parameter that may be repeated as an array of whole numbers. Other values stay strings. */
export function QueryIntegers(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    value === undefined ? undefined : [value].flat().map(integerOf),
  );
}

function integerOf(value: unknown): unknown {
  return typeof value === 'string' ? (parseNatural(value) ?? value) : value;
}
