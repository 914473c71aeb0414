import type { StatementResult } from './connection.js';

/** A transaction that has begun, for whoever holds it alone. */
export interface OpenTransaction {
  /** The connection of better-sqlite3 beneath. */
  readonly database: unknown;
  /** @throws SqliteError, or what ended the transaction before its time */
  run(sql: string, parameters?: readonly unknown[]): StatementResult;
  /** Resolves when everything is on disk; when it rejects, nothing is kept. */
  commit(): Promise<void>;
  /** Undoes everything; does nothing after the end. */
  rollback(): void;
}
