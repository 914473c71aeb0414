import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';

/**
 * A text of `min` to `max` Unicode code points, as JSON Schema, SQLite and PostgreSQL count them; class-validator's own
 * `Length` does not count variation selectors. NUL and lone surrogates are refused: no database can keep them.
 */
export function IsText(min: number, max: number, options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isText',
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
  // A code point is one or two UTF-16 units: most texts need no counting.
  if (value.length < min || value.length > max * 2) return false;
  if (value.length <= max && value.length >= min * 2) return true;
  let length = 0;
  for (const _codePoint of value) length++;
  return length >= min && length <= max;
}
