import { Transform } from 'class-transformer';

/** Parses a decimal number from 0 to 2^53-1 without sign or leading zeros; `undefined` for any other text. */
export function parseNatural(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** Parses a property that is a string. Strings that cannot be parsed, and other values, stay for the validators. */
export function Parsed(parse: (text: string) => unknown): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => parsed(value, parse));
}

function parsed(value: unknown, parse: (text: string) => unknown): unknown {
  return typeof value === 'string' ? (parse(value) ?? value) : value;
}

export const QueryInteger = (): PropertyDecorator => Parsed(parseNatural);

/** Reads a repeatable query parameter as an array. A value for which `parse` returns `undefined` stays a string. */
export function QueryArray(parse: (text: string) => unknown = () => undefined): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => [value].flat().map((each) => parsed(each, parse)));
}
