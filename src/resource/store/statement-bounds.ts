import type { StatementLimits } from '../../database/engine.js';

/** Records read at once when a list is as long as it is. */
export const PAGE = 1000;

/**
 * `LIMIT` with a parameter. SQLite plans by the value of one that stands there alone, and so compiles the statement anew whenever
 * it is bound (https://sqlite.org/c3ref/c_dbconfig_defensive.html, SQLITE_DBCONFIG_ENABLE_QPSG); an expression it leaves as it is.
 */
export const LIMIT = 'LIMIT CAST(? AS bigint)';

/** How many records one statement of a list returns at most. */
export class RecordsPerStatement {
  most: number;

  constructor(private readonly limits: StatementLimits) {
    this.most = Math.min(PAGE, limits.firstRecords);
  }

  /** To be called with the length of records that a statement has returned. */
  learn(bytesPerRecord: number): void {
    const fitting = Math.floor(this.limits.jsonBytes / bytesPerRecord);
    this.most = Math.max(1, Math.min(PAGE, fitting));
  }
}
