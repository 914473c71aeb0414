import type { DataSource } from 'typeorm';
import type { Snapshot, Sql } from './sql.js';

/** What a driver has that is an engine. By this it is known without its class, so that only the engine in use is loaded. */
export const ENGINE = Symbol('engine');

/** What runs the SQL of a data source; each engine's driver for TypeORM is one. */
export interface Engine {
  readonly [ENGINE]: true;

  readonly dialect: Dialect;

  readonly statementLimits: StatementLimits;

  /** Whether one transaction writes at a time, so that several writes in one make nobody wait for longer. */
  readonly hasSingleWriter: boolean;

  /** How records are read together; absent where a statement is no round trip, so that each is read by itself. */
  readonly batchedReads?: BatchedReads;

  /** Milliseconds to wait for a lock, a connection or a slot before giving up. */
  readonly busyTimeout: number;

  /** Reads what is committed, outside any transaction and without waiting for writers. */
  readonly committed: Sql;

  /**
   * Runs `work` as one transaction, again when the database undid it for the sake of another: `work` must do nothing but use
   * its argument.
   * @param reclaimsSpace whether it reclaims more space than it takes, as a delete does: then it may use the last of it
   * @throws {DatabaseUnavailableError}
   * @throws {OutcomeUnknownError}
   * @throws {DiskFullError}
   */
  transaction<T>(work: (transaction: Sql) => Promise<T>, reclaimsSpace: boolean): Promise<T>;

  /** See `advanceIdSequence` of `id-sequence.ts`. */
  advanceIdSequence(transaction: Sql, table: string, id: number): Promise<void>;

  /** @throws {DatabaseUnavailableError} when too many are open */
  openSnapshot(): Promise<Snapshot>;

  /**
   * Resolves when the database can be read, and on PostgreSQL written. It waits for no other caller, whatever the load. Not
   * bounded in time where the database does not respond.
   */
  check(): Promise<void>;

  /** A failure before the service is up, as a message for the operator; `error` itself when it is not the database's. */
  explain(error: unknown): unknown;
}

/**
 * What one statement may do before something else must have its turn; `Infinity` where the engine runs in another process and
 * holds nobody up.
 */
export interface StatementLimits {
  /** Rows that are read in search of those that match a filter. */
  readonly scannedRows: number;
  /** Rows that are counted. */
  readonly countedRows: number;
  /** Bytes of JSON that should be returned. */
  readonly jsonBytes: number;
  /** Records that are returned as JSON while their length is unknown. */
  readonly firstRecords: number;
}

export interface BatchedReads {
  readonly maxBatchSize: number;
  /** The condition that a column equals one of the elements of an array, which is its only parameter. */
  readonly isOneOf: (column: string) => string;
}

/** Where SQL that both engines run must differ. */
export interface Dialect {
  /** An expression that gives a string as JSON, byte for byte as `JSON.stringify` does. */
  json(expression: string): string;

  /** The same for a floating-point number, whose value is exactly that of the column. */
  jsonReal(expression: string): string;

  /** An expression that gives one of TypeORM's dates in ISO 8601, in UTC with milliseconds, as `Date.toJSON` does. */
  isoDate(expression: string): string;

  /** An expression that gives such a date as text in UTC with every digit that the engine has of it, and one that undoes it. */
  exactDate(expression: string): string;
  dateOfExact(expression: string): string;

  /**
   * An aggregate that joins strings without anything between, as UTF-8 or as a string: those of a subquery that is in
   * the order of `column`, in that order.
   */
  join(expression: string, column: string, direction: 'ASC' | 'DESC'): string;

  /**
   * What follows a SELECT whose record the transaction is about to change, so that no other changes it meanwhile. Nothing
   * where writers run one at a time anyway.
   */
  forUpdate(table: string): string;

  /** An expression that gives the largest id that a table has ever given or stored; 0 for a table that never had a record. */
  lastGivenId(table: string): string;
}

export function engineOf({ driver }: DataSource): Engine {
  if (ENGINE in driver) return driver as typeof driver & Engine;
  throw new Error(`There is no engine for ${driver.options.type}`);
}
