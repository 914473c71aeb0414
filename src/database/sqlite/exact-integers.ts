import { UnsafeIntegerError } from '../errors.js';
import type { Row } from './connection.js';

/** Declared types that SQLite stores as floating point: https://sqlite.org/datatype3.html, section 3.1. */
const REAL = /REAL|FLOA|DOUB/i;

/**
 * Rejects rows with an integer that better-sqlite3 has rounded, since a number does not hold its 64 bits.
 * @param typeOf the declared type of a column of the result; `null` for an expression
 * @throws {UnsafeIntegerError}
 */
export function rejectRoundedIntegers(rows: readonly Row[], typeOf: (column: string) => string | null): void {
  for (const row of rows) {
    for (const column in row) {
      const value = row[column];
      if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value)) continue;
      if (!REAL.test(typeOf(column) ?? '')) throw new UnsafeIntegerError(String(value));
    }
  }
}
