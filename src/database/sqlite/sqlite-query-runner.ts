import {
  QueryFailedError,
  QueryResult,
  QueryRunnerAlreadyReleasedError,
  TypeORMError,
  type ReplicationMode,
} from 'typeorm';
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js';
import { BroadcasterResult } from 'typeorm/subscriber/BroadcasterResult.js';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import { DatabaseUnavailableError, DiskFullError } from '../errors.js';
import { statementTimings } from '../timing.js';
import type { Connection, StatementResult } from './connection.js';
import type { SqliteDriver } from './sqlite-driver.js';
import { translateSqliteError } from './sqlite-errors.js';
import { retryWhileBusy } from './writer.js';

/** A transaction of this runner: the connection it has for itself, and why it can't go on, if so. */
interface Transaction {
  readonly connection: Connection;
  aborted?: Error;
  end(): void;
}

/** Transaction control, whether TypeORM or the caller writes it. Savepoints are ordinary statements of a transaction. */
const CONTROL = /^\s*(BEGIN|COMMIT|END|ROLLBACK(?!\s+(?:TRANSACTION\s+)?TO)|SAVEPOINT|RELEASE|ROLLBACK)\b/i;
const PLAIN_READ = /^\s*(?:SELECT|WITH|VALUES|EXPLAIN)\b/i;

/**
 * One caller's session. In mode `master` its transactions write and wait for a turn; in mode `slave` they read one
 * snapshot and wait for nobody. Statements outside a transaction are transactions of their own.
 */
export class SqliteQueryRunner extends BetterSqlite3QueryRunner {
  declare driver: SqliteDriver;
  private transaction?: Transaction;

  constructor(driver: SqliteDriver, mode: ReplicationMode) {
    super(driver);
    this.mode = mode;
  }

  /** The raw connection, for TypeORM's reading of the schema; statements belong into `query`. */
  override connect(): Promise<unknown> {
    return Promise.resolve((this.transaction?.connection ?? this.driver.reader).database);
  }

  /** Rolls back what was left open, so that a forgotten transaction blocks nobody. */
  override async release(): Promise<void> {
    if (this.isReleased) return;
    if (this.transaction !== undefined) this.rollback();
    this.isReleased = true;
    await super.release();
  }

  override async startTransaction(isolationLevel?: IsolationLevel): Promise<void> {
    try {
      await super.startTransaction(isolationLevel);
    } catch (error) {
      // TypeORM marks the transaction active before it begins; one that did not begin is not.
      if (this.transaction === undefined) this.isTransactionActive = false;
      throw error;
    }
  }

  override async beforeMigration(): Promise<void> {
    await this.query('PRAGMA foreign_keys = OFF');
  }

  override async afterMigration(): Promise<void> {
    await this.query('PRAGMA foreign_keys = ON');
  }

  /**
   * @throws {QueryFailedError} for a fault of the statement or a violated constraint
   * @throws {DatabaseUnavailableError} for a locked or broken database, or a transaction that took too long
   * @throws {DiskFullError} when the volume is full; the whole transaction is rolled back then
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature is TypeORM's
  override async query(sql: string, parameters: unknown[] = [], useStructuredResult = false): Promise<any> {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    if (!Array.isArray(parameters)) throw new TypeORMError('SQLite statements take their parameters as an array');
    const { logger, subscribers } = this.dataSource;
    const bound = parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
    logger.logQuery(sql, bound, this);
    if (subscribers.length > 0) await this.broadcaster.broadcast('BeforeQuery', sql, bound);
    const started = performance.now();
    try {
      const outcome = toQueryResult(await this.execute(sql, bound));
      await this.reportQuery(sql, bound, performance.now() - started, outcome.raw);
      return useStructuredResult ? outcome : outcome.raw;
    } catch (error) {
      logger.logQueryError(error as Error, sql, bound, this);
      await this.reportQuery(sql, bound, undefined, undefined, error);
      if (OWN_ERRORS.some((type) => error instanceof type)) throw error;
      throw translateSqliteError(error) ?? new QueryFailedError(sql, bound, error as Error);
    }
  }

  private async reportQuery(sql: string, bound: unknown[], milliseconds?: number, raw?: unknown, error?: unknown) {
    const { maxQueryExecutionTime } = this.driver.options;
    if (milliseconds !== undefined && maxQueryExecutionTime && milliseconds > maxQueryExecutionTime) {
      this.dataSource.logger.logQuerySlow(Math.round(milliseconds), sql, bound, this);
    }
    if (this.dataSource.subscribers.length === 0) return;
    const result = new BroadcasterResult();
    this.broadcaster.broadcastAfterQueryEvent(result, sql, bound, error === undefined, milliseconds, raw, error);
    await result.wait();
  }

  private execute(sql: string, parameters: unknown[]): StatementResult | Promise<StatementResult> {
    const control = CONTROL.exec(sql)?.[1]?.toUpperCase();
    if (control !== undefined) return this.control(control, sql);
    const { transaction } = this;
    if (transaction !== undefined) return this.runInTransaction(transaction, sql, parameters);
    const { reader, limits } = this.driver;
    if (this.mode === 'slave' || (PLAIN_READ.test(sql) && reader.prepare(sql).readonly)) {
      return retryWhileBusy(() => timed('read', () => reader.run(sql, parameters)), limits.busyTimeout);
    }
    return this.writeAlone(sql, parameters);
  }

  private async writeAlone(sql: string, parameters: unknown[]): Promise<StatementResult> {
    const turn = await this.driver.writer.turn();
    try {
      return await retryWhileBusy(
        () => timed('write', () => turn.connection.run(sql, parameters)),
        this.driver.limits.busyTimeout,
      );
    } finally {
      turn.end();
    }
  }

  private runInTransaction(transaction: Transaction, sql: string, parameters: unknown[]): StatementResult {
    if (transaction.aborted !== undefined) throw transaction.aborted;
    const kind = this.mode === 'slave' ? 'read' : 'write';
    try {
      return timed(kind, () => transaction.connection.run(sql, parameters));
    } catch (error) {
      // After SQLITE_FULL, SQLITE_IOERR and the like SQLite has rolled back by itself (https://sqlite.org/lang_transaction.html).
      if (!transaction.connection.inTransaction)
        this.abort(transaction, translateSqliteError(error) ?? (error as Error));
      throw error;
    }
  }

  private control(keyword: string, sql: string): StatementResult | Promise<StatementResult> {
    const { transaction } = this;
    if (keyword === 'BEGIN') return this.begin();
    if (keyword === 'ROLLBACK' && !/\bTO\b/i.test(sql)) return this.rollback();
    if (transaction === undefined)
      throw new TypeORMError(`${keyword} needs a transaction: call startTransaction() first`);
    if (transaction.aborted !== undefined) {
      if (keyword === 'ROLLBACK') return DONE;
      throw transaction.aborted;
    }
    return keyword === 'COMMIT' || keyword === 'END' ? this.commit(transaction) : transaction.connection.run(sql);
  }

  private async begin(): Promise<StatementResult> {
    if (this.transaction !== undefined) throw new TypeORMError('This query runner has begun a transaction already');
    this.transaction = this.mode === 'slave' ? this.beginReading() : await this.beginWriting();
    return DONE;
  }

  private beginReading(): Transaction {
    const { snapshots } = this.driver;
    const connection = snapshots.take();
    connection.run('BEGIN');
    return { connection, end: () => snapshots.giveBack(connection) };
  }

  private async beginWriting(): Promise<Transaction> {
    const { writer, limits } = this.driver;
    const turn = await writer.turn();
    try {
      // IMMEDIATE: a transaction that reads first and then writes would otherwise fail after another process's commit.
      await retryWhileBusy(() => turn.connection.run('BEGIN IMMEDIATE'), limits.busyTimeout);
    } catch (error) {
      turn.end();
      throw error;
    }
    const transaction: Transaction = {
      connection: turn.connection,
      end: () => {
        clearTimeout(timer);
        turn.end();
      },
    };
    const timer = setTimeout(() => {
      turn.connection.run('ROLLBACK');
      const reason = `The transaction took longer than ${limits.transactionTimeout} ms and was rolled back`;
      this.abort(transaction, new DatabaseUnavailableError(reason));
    }, limits.transactionTimeout);
    return transaction;
  }

  private commit(transaction: Transaction): StatementResult {
    try {
      timed('write', () => transaction.connection.run('COMMIT'));
    } catch (error) {
      // A deferred constraint leaves the transaction open (https://sqlite.org/foreignkeys.html#fk_deferred): the caller rolls back.
      if (!transaction.connection.inTransaction)
        this.abort(transaction, translateSqliteError(error) ?? (error as Error));
      throw error;
    }
    this.transaction = undefined;
    transaction.end();
    return DONE;
  }

  private rollback(): StatementResult {
    const { transaction } = this;
    this.transaction = undefined;
    if (transaction === undefined || transaction.aborted !== undefined) return DONE;
    try {
      if (transaction.connection.inTransaction) transaction.connection.run('ROLLBACK');
    } finally {
      transaction.end();
    }
    return DONE;
  }

  private abort(transaction: Transaction, reason: Error): void {
    transaction.aborted = reason;
    transaction.end();
  }
}

const DONE: StatementResult = { changes: 0 };
const OWN_ERRORS = [TypeORMError, DatabaseUnavailableError, DiskFullError];

function toQueryResult({ rows, changes, lastInsertRowid }: StatementResult): QueryResult {
  const result = new QueryResult();
  if (rows !== undefined) {
    result.raw = rows;
    result.records = rows;
  } else {
    result.raw = lastInsertRowid;
    result.affected = changes;
  }
  return result;
}

function timed<T>(kind: 'read' | 'write', run: () => T): T {
  if (!statementTimings.hasSubscribers) return run();
  const started = performance.now();
  try {
    return run();
  } finally {
    statementTimings.publish({ kind, seconds: (performance.now() - started) / 1000 });
  }
}
