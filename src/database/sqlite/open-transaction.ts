import type { StatementResult } from './sqlite-connection.js';

/** A transaction of one caller. */
export interface OpenTransaction {
  /** The connection of better-sqlite3. */
  readonly database: unknown;
  /** @throws SqliteError, or the error that ended the transaction early */
  run(sql: string, parameters?: readonly unknown[]): StatementResult;
  /** Resolves when the transaction is on disk. After a rejection nothing is stored. */
  commit(): Promise<void>;
  /**
   * Rolls back immediately; does nothing after the end. Resolves when the data that the transaction read is on disk;
   * only then may the caller act on it.
   * @throws the error of that commit; then results of this transaction are invalid
   */
  rollback(): Promise<void>;
}
