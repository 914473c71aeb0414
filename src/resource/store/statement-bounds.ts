import type { StatementLimits } from '../../database/engine.js';

/** Page size of a list without `limit`. */
export const PAGE = 1000;

/**
 * `LIMIT` with a parameter inside an expression. With a plain parameter, SQLite recompiles the statement for each value
 * (https://sqlite.org/c3ref/c_dbconfig_defensive.html, SQLITE_DBCONFIG_ENABLE_QPSG).
 */
export const LIMIT = 'LIMIT CAST(? AS bigint)';

/** Limits the number of records of one statement by their average size. */
export class RecordsPerStatement {
  most: number;

  constructor(private readonly limits: StatementLimits) {
    this.most = Math.min(PAGE, limits.firstRecords);
  }

  /** Call it with the average length of the returned records in bytes. */
  learn(bytesPerRecord: number): void {
    const fitting = Math.floor(this.limits.jsonBytes / bytesPerRecord);
    this.most = Math.max(1, Math.min(PAGE, fitting));
  }
}
