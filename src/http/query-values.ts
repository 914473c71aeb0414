import { Transform } from 'class-transformer';
import { parseNatural } from './parse-natural.js';

/**
 * Reads a query parameter as a whole number. What is none stays the text it was (or the array, when the parameter came
 * twice), for the validators to refuse.
 */
export function QueryInteger(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? (parseNatural(value) ?? value) : value,
  );
}

/** Reads a query parameter that may be repeated as an array of its values. */
export function QueryArray(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (value === undefined ? undefined : [value].flat()));
}
