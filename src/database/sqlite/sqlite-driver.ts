import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DataSource, EntityMetadata, ObjectLiteral, ReplicationMode } from 'typeorm';
import { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { DatabaseStartError, rootCause } from '../errors.js';
import { type ConnectionUsage, type Dialect, type Engine, type Snapshot, type Sql, sqlOf } from '../engine.js';
import {
  rejectUnstorable,
  retryWhileBusy,
  type Row,
  SqliteConnection,
  type StatementResult,
} from './sqlite-connection.js';
import { DatabaseFile } from './file/database-file.js';
import { tryWriting } from './better-sqlite3.js';
import { hydratedDecimal, isAutoIncrement, isDecimal, storedDecimal } from '../columns.js';
import { lostFileProblem } from './file/file-problem.js';
import { DiskReserve } from './writing/disk-reserve.js';
import { ListTurns } from './reading/list-turns.js';
import { createPrivately, makePrivateFolder } from './file/private-file.js';
import { Snapshots } from './reading/snapshots.js';
import { explained, sqliteCode, startError, translated } from './sqlite-errors.js';
import { NOW, storedDefault } from './column-changes.js';
import { acceptedValue } from './column-values.js';
import { type SqliteConnections, SqliteQueryRunner } from './sqlite-query-runner.js';
import type { WriteTransaction } from './writing/write-transaction.js';
import { Writer, type WriterLimits } from './writing/writer.js';

/** A whole number has no fraction. Others have 15 digits if these are exact, otherwise 17; SQLite's JSON has 15. */
function jsonReal(expression: string): string {
  const short = `printf('%!.15g', ${expression})`;
  const whole = `CAST(${expression} AS integer)`;
  return (
    `CASE WHEN ${whole} = ${expression} AND abs(${expression}) < 1e15 THEN ${whole} ` +
    `WHEN CAST(${short} AS REAL) = ${expression} THEN ${short} ELSE printf('%!.17g', ${expression}) END`
  );
}

/**
 * TypeORM's better-sqlite3 driver, made safe for concurrent callers (docs/drivers.md). Each caller gets its own query
 * runner. Writes take turns on one connection; reads outside a transaction use another, which sees committed data only.
 */
export class SqliteDriver extends BetterSqlite3Driver implements Engine, SqliteConnections {
  readonly dialect: Dialect = {
    json: (expression) => `json_quote(${expression})`,
    jsonReal,
    decimal: (expression, scale) => `printf('%.${scale}f', ${expression})`,
    day: (expression) => expression,
    isoDate: (expression) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${expression})`,
    exactDate: (expression) => expression,
    dateOfExact: (expression) => expression,
    // The rows are sorted already (docs/adr/0023-engine-writes-json-of-lists.md).
    join: (expression) => `CAST(string_agg(${expression}, '') AS BLOB)`,
    forUpdate: () => '',
    forReference: () => '',
    now: `CAST(unixepoch('subsec') * 1000 AS integer)`,
    deferReferences: 'PRAGMA defer_foreign_keys = ON',
    lastGivenId,
  };
  readonly busyTimeout = this.limits.busyTimeout;
  // A statement within these limits blocks the event loop for 2 ms (docs/adr/0080-list-queue.md).
  readonly statementLimits = { scannedRows: 2000, jsonBytes: 128 * 1024, firstRecords: 200 };

  writer!: Writer;
  reader!: SqliteConnection;
  private snapshots!: Snapshots;
  private readonly listTurns = new ListTurns();
  private reserve!: DiskReserve;
  private file!: DatabaseFile;
  private writing!: SqliteConnection;

  constructor(
    dataSource: DataSource,
    readonly limits: WriterLimits,
  ) {
    super(dataSource);
    Object.assign(this.mappedDataTypes, { createDateDefault: NOW, updateDateDefault: NOW });
  }

  override preparePersistentValue(value: unknown, column: ColumnMetadata): unknown {
    const accepted = acceptedValue(value, column, this.normalizeType(column));
    const prepared: unknown = super.preparePersistentValue(accepted, column);
    return isDecimal(column) ? storedDecimal(prepared, column) : prepared;
  }

  override escapeQueryWithParameters(sql: string, parameters: ObjectLiteral): [string, unknown[]] {
    Object.values(parameters).flat().forEach(rejectUnstorable);
    return super.escapeQueryWithParameters(sql, Object.fromEntries(Object.entries(parameters).map(literal)));
  }

  override prepareHydratedValue(value: unknown, column: ColumnMetadata): unknown {
    return super.prepareHydratedValue(isDecimal(column) ? hydratedDecimal(value, column) : value, column);
  }

  /** @param inserted the row of RETURNING, or the last generated id */
  override createGeneratedMap(metadata: EntityMetadata, inserted: unknown, index: number, count: number) {
    const key = metadata.generatedColumns.find(isAutoIncrement);
    if (typeof inserted !== 'object' || key === undefined) {
      return super.createGeneratedMap(metadata, inserted, index, count);
    }
    return key.createValueMap((inserted as Row)[key.databaseName]);
  }

  /** The type as the table has it. AUTOINCREMENT allows only `integer` (https://sqlite.org/autoinc.html). */
  override normalizeType(column: Partial<ColumnMetadata>): string {
    return isAutoIncrement(column) ? 'integer' : super.normalizeType(column);
  }

  /** The default of a column as the table has it. */
  override normalizeDefault(column: ColumnMetadata): string | undefined {
    const value = super.normalizeDefault(column);
    return storedDefault({ type: this.normalizeType(column), default: value }) as typeof value;
  }

  /** @throws {DatabaseStartError} with the file and the reason */
  override async connect(): Promise<void> {
    const path = this.options.database;
    try {
      makePrivateFolder(dirname(path));
      const problem = lostFileProblem(path);
      if (problem !== undefined) throw new DatabaseStartError(`The database file ${path} ${problem}.`);
      createPrivately(path);
      // SQLite would open a read-only file.
      if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
      DiskReserve.release(path);
      this.writing = new SqliteConnection(path, { readonly: false });
      await retryWhileBusy(() => prepareForWriting(this.writing), this.busyTimeout);
      this.file = new DatabaseFile(path);
      this.snapshots = new Snapshots(path, this.busyTimeout);
      this.reserve = new DiskReserve(this.file, this.writing, this.snapshots);
      await retryWhileBusy(() => this.reserve.makeAtStart(), this.busyTimeout);
      this.reader = new SqliteConnection(path, { readonly: true });
    } catch (error) {
      this.writing?.database.close();
      this.reserve?.close();
      this.file?.close();
      throw error instanceof DatabaseStartError ? error : startError(path, rootCause(error));
    }
    this.databaseConnection = this.writing.database;
    this.writer = new Writer(this.writing, this.reserve, this.file, this.limits);
  }

  get connections(): ConnectionUsage[] {
    return [this.writer.usage, this.snapshots.usage];
  }

  override async disconnect(): Promise<void> {
    await this.writer.close();
    this.snapshots.close();
    this.reader.database.close();
    this.reserve.keep();
    this.writing.database.close();
    this.reserve.close();
    this.file.close();
  }

  explain(error: unknown): unknown {
    const cause = rootCause(error);
    return sqliteCode(cause) === '' ? error : startError(this.options.database, cause);
  }

  readonly committed = sqliteSql((sql, parameters) => this.read(sql, parameters));
  readonly probes = this.committed;

  async transaction<T>(work: (transaction: Sql) => Promise<T>, reclaimsSpace: boolean): Promise<T> {
    const inTransaction = (transaction: WriteTransaction): Promise<T> =>
      work(sqliteSql((sql, parameters) => transaction.run(sql, parameters)));
    try {
      return await this.writer.transaction(inTransaction, reclaimsSpace);
    } catch (error) {
      // Errors of statements are already converted; an unconverted error comes from the commit.
      throw sqliteCode(error) === '' ? error : explained(error, 'COMMIT', []);
    }
  }

  async openSnapshot(): Promise<Snapshot> {
    this.file.assertNotMoved();
    const transaction = await this.snapshots.begin().catch((error: unknown) => {
      throw translated(error);
    });
    const run = this.listTurns.list();
    const source = sqliteSql((sql, parameters) => run(() => transaction.run(sql, parameters)));
    return Object.assign(source, { close: () => transaction.end() });
  }

  /** SQLite advances the sequence itself when a record is stored with its id (https://sqlite.org/autoinc.html). */
  async advanceIdSequence(transaction: Sql, table: string, id: number): Promise<void> {
    const [{ last }] = await transaction.query<[{ last: number }]>(`SELECT ${lastGivenId(table)} AS last`, []);
    if (last >= id) return;
    // `sqlite_sequence` has no key, and no row before the first record.
    await transaction.sql`DELETE FROM sqlite_sequence WHERE name = ${table}`;
    await transaction.sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${id})`;
  }

  async check(): Promise<void> {
    // A SELECT without a table would not read the file.
    await this.committed.sql`SELECT 1 FROM sqlite_schema LIMIT 1`;
  }

  read(sql: string, parameters: readonly unknown[]): StatementResult | Promise<StatementResult> {
    this.file.assertNotMoved();
    return retryWhileBusy(() => this.reader.run(sql, parameters), this.busyTimeout);
  }

  override createQueryRunner(mode: ReplicationMode): SqliteQueryRunner {
    return new SqliteQueryRunner(this, mode);
  }
}

function prepareForWriting(connection: SqliteConnection): void {
  const { database } = connection;
  const encoding = String(database.pragma('encoding', { simple: true }));
  // Lists copy the bytes of the database's text into their JSON, which is UTF-8.
  if (encoding !== 'UTF-8') throw new Error(`its text is in ${encoding}; it must be in UTF-8`);
  const mode = database.pragma('journal_mode = WAL', { simple: true });
  if (mode !== 'wal') throw new Error(`its file system does not allow WAL mode (it stays in mode "${String(mode)}")`);
  // better-sqlite3's default for WAL, NORMAL, does not sync commits: a power failure could lose an acknowledged write.
  database.pragma('synchronous = FULL');
  database.pragma('foreign_keys = ON');
  // REPLACE INTO fires the DELETE triggers of the records that it deletes.
  database.pragma('recursive_triggers = ON');
  // SQLite truncates the WAL to this size when it restarts it.
  database.pragma('journal_size_limit = 16777216');
  tryWriting(database);
  database.prepare('SELECT count(*) FROM sqlite_schema').get();
}

/** The largest id that AUTOINCREMENT has given or seen for a table; 0 if there is none. */
const lastGivenId = (table: string): string => `coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${table}'), 0)`;

/** TypeORM writes numbers into the SQL, where `stock-:sold` may become a comment, `stock--1`, and `Infinity` a name. */
function literal([name, value]: [string, unknown]): [string, unknown] {
  const isPlain = typeof value !== 'number' || (value >= 0 && value < Infinity);
  return [name, isPlain ? value : () => `(${String(value).replace('Infinity', '9e999')})`];
}

/** Runs SQL with the errors of TypeORM. */
function sqliteSql(run: (sql: string, parameters: unknown[]) => StatementResult | Promise<StatementResult>): Sql {
  return sqlOf(async (sql, parameters) => {
    try {
      const result = run(sql, parameters);
      return (result instanceof Promise ? await result : result).rows ?? [];
    } catch (error) {
      throw explained(error, sql, parameters);
    }
  });
}
