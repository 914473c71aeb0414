import { buildMessage, ValidateBy, ValidateIf, type ValidationOptions } from 'class-validator';

export const isPresent = (_object: unknown, value: unknown): boolean => value !== undefined;

/** Makes a property optional. Unlike `IsOptional` of class-validator, it does not accept `null`. */
export function IsOptionalNotNull(): PropertyDecorator {
  return ValidateIf(isPresent);
}

/**
 * The `pattern` of JSON Schema (ECMA-262) for strings without NUL and lone surrogates. It is correct with and without
 * the flag `u`, which JSON Schema recommends and many generators omit.
 */
export const TEXT_PATTERN = String.raw`^(?:[^\u0000\uD800-\uDFFF]|[\uD800-\uDBFF][\uDC00-\uDFFF])*$`;

/**
 * Validates a string of `min` to `max` Unicode code points, as JSON Schema, SQLite and PostgreSQL count them; `Length`
 * of class-validator ignores variation selectors. PostgreSQL cannot store NUL and lone surrogates: they are rejected.
 */
export function IsCodePointLength(min: number, max: number, options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isCodePointLength',
      validator: {
        validate: (value: unknown) =>
          typeof value === 'string' && hasLength(value, min, max) && !value.includes('\0') && value.isWellFormed(),
        defaultMessage: buildMessage(
          () => `must be a text of ${min} to ${max} characters, without NUL and lone surrogates`,
          options,
        ),
      },
    },
    options,
  );
}

function hasLength(value: string, min: number, max: number): boolean {
  // A code point has one or two UTF-16 units.
  if (value.length > max * 2) return false;
  const { length } = [...value];
  return length >= min && length <= max;
}
