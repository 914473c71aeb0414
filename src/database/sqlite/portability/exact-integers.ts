import { UnsafeIntegerError } from '../../errors.js';
import type { StatementResult } from '../sqlite-connection.js';

/** Declared types that SQLite stores as floating point (https://sqlite.org/datatype3.html, section 3.1). */
const REAL = /REAL|FLOA|DOUB/i;

/** The largest integer of SQLite, 2^63 - 1, rounded to a number. Larger numbers are no integers. */
const LARGEST = 2 ** 63;

/**
 * Rejects a result with an integer that better-sqlite3 has rounded, because it exceeds 2^53 - 1.
 * @throws {UnsafeIntegerError}
 */
export function rejectRoundedIntegers(result: StatementResult): void {
  if (result.rows === undefined) return;
  for (const row of result.rows) {
    for (const column in row) {
      const value = row[column];
      if (typeof value === 'number' && mayBeRounded(value) && !isReal(result, column)) {
        throw new UnsafeIntegerError(String(value));
      }
    }
  }
}

function mayBeRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) <= LARGEST;
}

/** Tells whether the column is declared as floating point. Expressions have no declared type. */
function isReal({ source }: StatementResult, name: string): boolean {
  const column = source?.columns().find((candidate) => candidate.name === name);
  return REAL.test(column?.type ?? '');
}
