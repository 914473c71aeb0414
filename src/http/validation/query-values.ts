import { Transform } from 'class-transformer';
import { parseNatural } from './parse-natural.js';

/**
 * Reads a query parameter as a whole number. What is none stays the string it was (or the array, when the parameter came
 * twice), for the validators to reject.
 */
export function QueryInteger(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => integerOf(value));
}

/** Reads a query parameter that may be repeated as an array of its values. */
export function QueryArray(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (value === undefined ? undefined : [value].flat()));
}

/** The same, each value as a whole number, or as the string it was. */
export function QueryIntegers(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    value === undefined ? undefined : [value].flat().map(integerOf),
  );
}

function integerOf(value: unknown): unknown {
  return typeof value === 'string' ? (parseNatural(value) ?? value) : value;
}
