import { dirname } from 'node:path';
import { type DataSource, QueryFailedError, type ReplicationMode } from 'typeorm';
import { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { DatabaseStartError } from '../errors.js';
import { type Dialect, ENGINE, type Engine, type StatementLimits } from '../engine.js';
import type { Snapshot, Sql } from '../sql.js';
import { advanceIdSequence, lastGivenId } from './sqlite-id-sequence.js';
import { retryWhileBusy } from './busy-retries.js';
import { SqliteConnection, type SlowStatements, type StatementResult } from './sqlite-connection.js';
import { DatabaseFile } from './file/database-file.js';
import { hydratedDecimal, storedDecimal } from './portability/decimals.js';
import { DiskReserve } from './writing/disk-reserve.js';
import { LargeWal } from './writing/large-wal.js';
import { ListTurns } from './reading/list-turns.js';
import { NOW } from './portability/sqlite-query-builders.js';
import { createPrivately, makePrivateFolder } from './file/private-file.js';
import { Snapshots } from './reading/snapshots.js';
import { isBusy, sqliteCode, startError } from './sqlite-errors.js';
import { explained, SqliteSql } from './sqlite-sql.js';
import { type SqliteConnections, SqliteQueryRunner } from './sqlite-query-runner.js';
import { TableRebuilds } from './statements/table-rebuilds.js';
import { tryWriting } from './file/write-trial.js';
import { Writer, type WriterLimits } from './writing/writer.js';

/** Fifteen digits where they are exact, seventeen where they are not: SQLite's own JSON always has fifteen. */
function jsonReal(expression: string): string {
  const short = `printf('%!.15g', ${expression})`;
  return `CASE WHEN CAST(${short} AS REAL) = ${expression} THEN ${short} ELSE printf('%!.17g', ${expression}) END`;
}

/**
 * TypeORM's better-sqlite3 driver made safe for concurrent callers. As shipped it hands out one query runner on one
 * connection, so that transactions of different requests mix. Here every caller gets a runner of its own; writes take
 * turns on one connection, reads outside a transaction use another, which sees committed data only (WAL).
 */
export class SqliteDriver extends BetterSqlite3Driver implements Engine, SqliteConnections {
  readonly [ENGINE] = true;
  readonly dialect: Dialect = {
    json: (expression) => `json_quote(${expression})`,
    jsonReal,
    isoDate: (expression) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${expression})`,
    exactDate: (expression) => expression,
    dateOfExact: (expression) => expression,
    // An ORDER BY of its own would sort again what comes sorted; see docs/adr/0023-engine-writes-json-of-lists.md.
    join: (expression) => `CAST(string_agg(${expression}, '') AS BLOB)`,
    forUpdate: () => '',
    lastGivenId,
  };
  readonly advanceIdSequence = advanceIdSequence;
  readonly hasSingleWriter = true;
  // A statement holds the event loop from its start to its end. Within these limits it takes 2 ms, even where every record has
  // a string of 255 emoji; see docs/adr/0080-list-queue.md.
  readonly statementLimits: StatementLimits = {
    scannedRows: 2000,
    countedRows: 10_000,
    jsonBytes: 128 * 1024,
    firstRecords: 200,
  };

  writer!: Writer;
  reader!: SqliteConnection;
  snapshots!: Snapshots;
  tableRebuilds!: TableRebuilds;
  private largeWal!: LargeWal;
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
    return storedDecimal(super.preparePersistentValue(value, column), column);
  }

  override prepareHydratedValue(value: unknown, column: ColumnMetadata): unknown {
    return super.prepareHydratedValue(hydratedDecimal(value, column), column);
  }

  /** @throws {DatabaseStartError} naming the file and what is wrong with it */
  override async connect(): Promise<void> {
    const path = this.options.database;
    try {
      makePrivateFolder(dirname(path));
      createPrivately(path);
      DiskReserve.release(path);
      this.writing = new SqliteConnection(path, { readonly: false }, this.slow);
      await retryWhileBusy(() => prepareForWriting(this.writing), this.limits.busyTimeout);
      this.reserve = new DiskReserve(path, this.writing);
      await retryWhileBusy(() => this.reserve.makeAtStart(), this.limits.busyTimeout);
      this.reader = new SqliteConnection(path, { readonly: true }, this.slow);
      this.snapshots = new Snapshots(path, this.limits.busyTimeout, this.slow);
      this.largeWal = new LargeWal(this.writing, this.snapshots);
    } catch (error) {
      this.writing?.close();
      this.reserve?.close();
      throw error instanceof DatabaseStartError ? error : startError(path, rootCause(error));
    }
    this.databaseConnection = this.writing.database;
    this.file = new DatabaseFile(path);
    this.writer = new Writer(this.writing, this.reserve, this.file, this.limits, () => this.largeWal.shrink());
    this.tableRebuilds = new TableRebuilds(this.writing, this.writer);
  }

  /** Waits for running writes, then closes; the last process to close leaves one tidy file, and its disk reserve. */
  override async disconnect(): Promise<void> {
    await this.writer.close();
    this.largeWal.close();
    this.snapshots.close();
    this.reader.close();
    this.reserve.keep();
    this.writing.close();
    this.reserve.close();
  }

  /** A failure before the service is up, as a message for the operator; `error` itself when it is not the file's. */
  explain(error: unknown): unknown {
    const cause = rootCause(error);
    return sqliteCode(cause) === '' ? error : startError(this.options.database, cause);
  }

  get busyTimeout(): number {
    return this.limits.busyTimeout;
  }

  private get slow(): SlowStatements {
    const { maxQueryExecutionTime: limit = Infinity } = this.options;
    const { logger } = this.dataSource;
    return { limit, report: (milliseconds, sql) => void logger.logQuerySlow(Math.round(milliseconds), sql) };
  }

  /** Reads without a query runner; see `committed` of `transactions.ts`. */
  readonly committed = new SqliteSql((sql, parameters) => this.read(sql, parameters));

  /** Writes without a query runner; see `transaction` of `transactions.ts`. */
  async transaction<T>(work: (transaction: Sql) => Promise<T>, reclaimsSpace: boolean): Promise<T> {
    const transaction = await this.writer.begin(reclaimsSpace);
    try {
      const result = await work(new SqliteSql((sql, parameters) => transaction.run(sql, parameters)));
      await transaction.commit();
      return result;
    } catch (error) {
      await transaction.rollback();
      // What statements throw has been explained; what is left comes from the commit.
      throw sqliteCode(error) === '' || error instanceof QueryFailedError ? error : explained(error, 'COMMIT', []);
    }
  }

  /** One state to read from; see `snapshot.ts`. */
  async openSnapshot(): Promise<Snapshot> {
    this.file.assertNotMoved();
    const transaction = await this.snapshots.begin();
    const list = this.listTurns.list();
    const source = new SqliteSql((sql, parameters) => list.run(() => transaction.run(sql, parameters)));
    return Object.assign(source, { close: () => void transaction.rollback() });
  }

  /** Whether the file can be read; see `engine.ts`. Reads wait for no writer, and not for each other. */
  async check(): Promise<void> {
    // A SELECT without a table would not look at the file.
    await this.committed.sql`SELECT 1 FROM sqlite_schema LIMIT 1`;
  }

  /** Runs a statement that only reads, outside a transaction. */
  read(sql: string, parameters: readonly unknown[]): StatementResult | Promise<StatementResult> {
    this.file.assertNotMoved();
    try {
      return this.reader.run(sql, parameters);
    } catch (error) {
      if (!isBusy(error)) throw error;
      return retryWhileBusy(() => this.reader.run(sql, parameters), this.limits.busyTimeout);
    }
  }

  override createQueryRunner(mode: ReplicationMode): SqliteQueryRunner {
    return new SqliteQueryRunner(this, mode);
  }
}

function prepareForWriting(connection: SqliteConnection): void {
  const { database } = connection;
  const mode = database.pragma('journal_mode = WAL', { simple: true });
  if (mode !== 'wal') throw new Error(`its file system does not allow WAL mode (it stays in mode "${String(mode)}")`);
  // Under WAL, better-sqlite3's default of NORMAL syncs no commit: an acknowledged write could be lost with the power.
  database.pragma('synchronous = FULL');
  database.pragma('foreign_keys = ON');
  // The WAL gives back what a long reader made it grow to when SQLite restarts it.
  database.pragma('journal_size_limit = 16777216');
  tryWriting(database);
  database.prepare('SELECT count(*) FROM sqlite_schema').get();
}

/** The error of better-sqlite3 beneath those of the data layer and of TypeORM. */
function rootCause(error: unknown): unknown {
  const { cause, driverError } = error as { cause?: unknown; driverError?: unknown };
  const inner = driverError ?? cause;
  return inner === undefined ? error : rootCause(inner);
}
