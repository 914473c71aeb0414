import type { DataSource } from 'typeorm';
import { inSpan } from '../tracing/spans.js';
import { ConnectionLostError, DiskFullError } from './errors.js';

/** Runs SQL as TypeORM's `EntityManager` does, without a query runner, and resolves to the rows. */
export interface Sql {
  /** Runs a template; its values are bound as parameters. */
  readonly sql: <Rows>(strings: TemplateStringsArray, ...values: unknown[]) => Promise<Rows>;
  /** Runs composed SQL with `?` for each parameter. Each variant is prepared and cached, so keep their number small. */
  readonly query: <Rows>(sql: string, parameters: unknown[]) => Promise<Rows>;
}

/** Makes an `Sql` from a function that runs SQL with `?` for each parameter. */
export function sqlOf(run: (sql: string, parameters: unknown[]) => Promise<unknown[]>): Sql {
  const query = run as Sql['query'];
  return { query, sql: (strings, ...values) => query(strings.join('?'), values) };
}

/** One committed state of the database, unaffected by later writes, until it is closed. */
export interface Snapshot extends Sql {
  /** Releases the state. A second call does nothing. */
  close(): void;
}

/** Runs the SQL of a data source. Each engine's TypeORM driver implements it. */
export interface Engine {
  readonly dialect: Dialect;
  /** Limits of one statement, so that other work can run; `Infinity` on PostgreSQL, which runs in another process. */
  readonly statementLimits: {
    /** Rows to scan for matches of a filter. */
    readonly scannedRows: number;
    /** Bytes of JSON to return. */
    readonly jsonBytes: number;
    /** Records to return as JSON while their length is unknown. */
    readonly firstRecords: number;
  };
  /** How to read several records in one statement; absent if a statement needs no round trip. */
  readonly batchedReads?: {
    readonly maxBatchSize: number;
    /** An SQL condition: the column equals an element of an array. The array is its only parameter. */
    readonly isOneOf: (column: string) => string;
  };
  /** Milliseconds to wait for a lock, a connection or a slot. */
  readonly busyTimeout: number;
  /** The connections of this process, for the metrics. */
  readonly connections: readonly ConnectionUsage[];
  /** See the functions `committed`, `transaction` and `openSnapshot`. */
  readonly committed: Sql;
  /** Reads committed data without waiting for other callers, for probes. */
  readonly probes: Sql;
  /** Runs `work` again if the database undid it because of another transaction. */
  transaction<T>(work: (transaction: Sql) => Promise<T>, reclaimsSpace: boolean): Promise<T>;
  /**
   * Advances the id sequence of a table to at least `id`. The caller has locked the `storage` row of the resource, so
   * no other transaction assigns an id.
   */
  advanceIdSequence(transaction: Sql, table: string, id: number): Promise<void>;
  openSnapshot(): Promise<Snapshot>;
  /** Resolves when the database can be read, on PostgreSQL also written. No time-out, no wait for other callers. */
  check(): Promise<void>;
  /** Turns a failure of the start into a message for the operator; returns other errors unchanged. */
  explain(error: unknown): unknown;
}

export interface ConnectionUsage {
  readonly pool: string;
  readonly used: number;
  /** Maximum number of connections that callers may hold at the same time. */
  readonly limit: number;
  /** Callers that wait while all connections are in use, without callers for whom a connection is being fetched. */
  readonly waiting: number;
}

/** SQL that differs between the engines. */
export interface Dialect {
  /** Converts a string to JSON, byte for byte as `JSON.stringify` does. */
  json(expression: string): string;
  /** Converts a floating-point number to JSON without rounding. */
  jsonReal(expression: string): string;
  /** Converts a decimal to text with `scale` digits after the decimal point. */
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
  /** Suffix of a SELECT that locks the record for a change later in the transaction; empty with only one writer. */
  forUpdate(table: string): string;
  /** The clause that keeps the selected rows from being deleted, as the check of a foreign key does. */
  forReference(table: string): string;
  /** The statement that makes a transaction check deferrable foreign keys at its end; on SQLite all of them. */
  readonly deferReferences: string;
  /** The time by the clock of the database, in milliseconds since 1970. */
  readonly now: string;
  /** The largest id that a table has given or stored; 0 for a table that never had a record. */
  lastGivenId(table: string): string;
}

export function engineOf({ driver }: DataSource): Engine {
  // `instanceof` would load both engines.
  if ('statementLimits' in driver) return driver as typeof driver & Engine;
  throw new Error(`There is no engine for ${driver.options.type}`);
}

/** The reasons that prevent a commit, by `query`, which all copies of a transaction share. */
const prevented = new WeakMap<Sql['query'], Error>();

export function commitPreventedBy(transaction: Sql): Error | undefined {
  return prevented.get(transaction.query);
}

/** Makes a transaction fail with `reason` at its end, even if its code catches it; `undefined` allows the commit. */
export function preventCommit(transaction: Sql, reason: Error | undefined): void {
  if (reason === undefined) prevented.delete(transaction.query);
  else prevented.set(transaction.query, reason);
}

export interface TransactionOptions {
  /** Whether the transaction frees space, as a delete does. Then it may use the last space of the volume. */
  readonly reclaimsSpace?: boolean;
}

/**
 * Runs `work` as one short transaction without TypeORM's query runner. It runs again if the volume was full and the
 * engine made space, so `work` must only use its argument. For entities, `dataSource.transaction` is as safe.
 * @throws {DiskFullError} when there is no space left
 * @throws {DatabaseUnavailableError} when the database is locked longer than its time-out, stopped or damaged
 * @throws {OutcomeUnknownError} when the response to the commit was lost, or the file may contain a failed one
 */
export function transaction<T>(
  dataSource: DataSource,
  work: (transaction: Sql) => Promise<T>,
  { reclaimsSpace = false }: TransactionOptions = {},
): Promise<T> {
  const workOrReject = async (tx: Sql): Promise<T> => {
    const result = await work(tx);
    const reason = commitPreventedBy(tx);
    if (reason !== undefined) throw reason;
    return result;
  };
  return inSpan('transaction', () =>
    repeatAfter(DiskFullError, () => engineOf(dataSource).transaction(workOrReject, reclaimsSpace)),
  );
}

/** Reads committed data outside any transaction, without waiting for writers. */
export function committed(dataSource: DataSource): Sql {
  return engineOf(dataSource).committed;
}

/** @throws {DatabaseUnavailableError} when too many snapshots are open */
export async function openSnapshot(dataSource: DataSource): Promise<Snapshot & Disposable> {
  const snapshot = await repeatRead(() => engineOf(dataSource).openSnapshot());
  return Object.assign(snapshot, { [Symbol.dispose]: () => snapshot.close() });
}

/**
 * Runs a read, and again if its connection broke: a pooled connection may lead to a stopped server. `read` must not
 * have sent anything to the client when it rejects.
 */
export function repeatRead<T>(read: () => Promise<T>): Promise<T> {
  return repeatAfter(ConnectionLostError, read);
}

const ATTEMPTS = 3;

/** Runs `attempt` up to three times, as long as it fails with the error. */
export async function repeatAfter<T>(error: new (cause: unknown) => Error, attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (reason) {
      if (!(reason instanceof error) || attempts === ATTEMPTS) throw reason;
    }
  }
}
