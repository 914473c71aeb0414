import { TypeORMError } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

const DECIMAL = /^(?:decimal|dec|numeric|number)$/;

/** Digits that SQLite keeps of a decimal: it stores a double (https://sqlite.org/floatingpoint.html). */
const DIGITS = 15;

/** How SQLite gives the moment as TypeORM writes its dates, in UTC with milliseconds; `datetime('now')` has whole seconds. */
export const NOW = `strftime('%Y-%m-%d %H:%M:%f', 'now')`;

/** A decimal as PostgreSQL gives it, a string with the digits of its scale; any other value as it is. */
export function hydratedDecimal(value: unknown, { type, scale }: ColumnMetadata): unknown {
  if (typeof value !== 'number' || !DECIMAL.test(String(type))) return value;
  return scale === undefined ? String(value) : value.toFixed(scale);
}

/** @throws {TypeORMError} for a decimal of more digits than SQLite keeps */
export function rejectRoundedDecimal(value: unknown, { type, propertyPath }: ColumnMetadata): void {
  if (!DECIMAL.test(String(type)) || (typeof value !== 'string' && typeof value !== 'number')) return;
  const digits = String(value)
    .replace(/e.*$/i, '')
    .replace(/[^0-9]/g, '')
    .replace(/^0+/, '');
  if (digits.length <= DIGITS) return;
  throw new TypeORMError(
    `The decimal ${value} for ${propertyPath} has more than ${DIGITS} digits, and SQLite would round it: use a column of text`,
  );
}
