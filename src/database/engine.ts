import type { DataSource } from 'typeorm';
import type { Snapshot, Sql } from './sql.js';

/** Marks a driver that is an engine. The mark replaces `instanceof`, so that only the engine in use is loaded. */
export const ENGINE = Symbol('engine');

/** Runs the SQL of a data source. Each engine's TypeORM driver implements it. */
export interface Engine {
  readonly [ENGINE]: true;

  readonly dialect: Dialect;

  readonly statementLimits: StatementLimits;

  /** Whether only one transaction writes at a time. Then several writes share a transaction without delaying others. */
  readonly hasSingleWriter: boolean;

  /** How to read several records in one statement; absent if a statement needs no round trip. */
  readonly batchedReads?: BatchedReads;

  /** Milliseconds to wait for a lock, a connection or a slot. */
  readonly busyTimeout: number;

  /** Reads committed data outside any transaction, without waiting for writers. */
  readonly committed: Sql;

  /**
   * Runs `work` as one transaction. It runs again if the database undid it because of another transaction, so `work`
   * must only use its argument.
   * @param reclaimsSpace whether the transaction frees space, as a delete does; then it may use the last space
   * @throws {DatabaseUnavailableError}
   * @throws {OutcomeUnknownError}
   * @throws {DiskFullError}
   */
  transaction<T>(work: (transaction: Sql) => Promise<T>, reclaimsSpace: boolean): Promise<T>;

  /** See `advanceIdSequence` in `transactions.ts`. */
  advanceIdSequence(transaction: Sql, table: string, id: number): Promise<void>;

  /** @throws {DatabaseUnavailableError} when too many are open */
  openSnapshot(): Promise<Snapshot>;

  /**
   * Resolves when the database can be read, and on PostgreSQL written. It waits for no other caller, but has no
   * time-out.
   */
  check(): Promise<void>;

  /** Turns a failure of the start into a message for the operator; returns other errors unchanged. */
  explain(error: unknown): unknown;
}

/** Limits of one statement, so that others get their turn; `Infinity` for an engine in another process. */
export interface StatementLimits {
  /** Rows to scan for those that match a filter. */
  readonly scannedRows: number;
  /** Rows that are counted. */
  readonly countedRows: number;
  /** Bytes of JSON to return. */
  readonly jsonBytes: number;
  /** Records to return as JSON while their length is unknown. */
  readonly firstRecords: number;
}

export interface BatchedReads {
  readonly maxBatchSize: number;
  /** The condition that a column equals one of the elements of an array, which is the only parameter. */
  readonly isOneOf: (column: string) => string;
}

/** SQL that differs between the engines. */
export interface Dialect {
  /** Converts a string to JSON, byte for byte as `JSON.stringify` does. */
  json(expression: string): string;

  /** Converts a floating-point number to JSON without rounding. */
  jsonReal(expression: string): string;

  /** Converts a decimal to text with `scale` digits behind the point. */
  decimal(expression: string, scale: number): string;

  /** Converts a date without time to text, such as `2026-01-31`. */
  day(expression: string): string;

  /** Converts a date of TypeORM to ISO 8601 in UTC with milliseconds, as `Date.toJSON` does. */
  isoDate(expression: string): string;

  /** Converts a date to text in UTC with all digits that the engine stores; `dateOfExact` converts it back. */
  exactDate(expression: string): string;
  dateOfExact(expression: string): string;

  /** Aggregate that joins strings without a separator, as UTF-8 bytes or a string, in the order of `column`. */
  join(expression: string, column: string, direction: 'ASC' | 'DESC'): string;

  /**
   * Suffix of a SELECT that locks the record for a change later in the transaction; empty if only one transaction
   * writes.
   */
  forUpdate(table: string): string;

  /** The largest id that a table has given or stored; 0 for a table that never had a record. */
  lastGivenId(table: string): string;
}

export function engineOf({ driver }: DataSource): Engine {
  if (ENGINE in driver) return driver as typeof driver & Engine;
  throw new Error(`There is no engine for ${driver.options.type}`);
}
