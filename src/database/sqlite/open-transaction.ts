import type { StatementResult } from './sqlite-connection.js';

/** A transaction that has begun, and belongs to one caller. */
export interface OpenTransaction {
  /** The connection of better-sqlite3 beneath. */
  readonly database: unknown;
  /** @throws SqliteError, or what ended the transaction before its time */
  run(sql: string, parameters?: readonly unknown[]): StatementResult;
  /** Resolves when everything is on disk; when it rejects, nothing is stored. */
  commit(): Promise<void>;
  /**
   * Undoes everything, at the time of the call; does nothing after the end. Resolves when what the transaction read is on
   * disk: only then the caller may act on it, also on an error that it met.
   * @throws what failed the commit of what it read; then its own outcome means nothing
   */
  rollback(): Promise<void>;
}
