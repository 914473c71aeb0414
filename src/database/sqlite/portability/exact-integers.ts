import { UnsafeIntegerError } from '../../errors.js';
import type { StatementResult } from '../sqlite-connection.js';

/** Declared types that SQLite stores as floating point: https://sqlite.org/datatype3.html, section 3.1. */
const REAL = /REAL|FLOA|DOUB/i;

/** What the largest integer of SQLite, 2^63 - 1, is rounded to; a larger number is none. */
const LARGEST = 2 ** 63;

/**
 * Rejects a result with an integer that better-sqlite3 has rounded, since a number does not hold its 64 bits.
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

/** Whether the column is declared as floating point; an expression is not declared. */
function isReal({ source }: StatementResult, name: string): boolean {
  const column = source?.columns().find((candidate) => candidate.name === name);
  return REAL.test(column?.type ?? '');
}
