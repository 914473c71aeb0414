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
import type { TransactionOptions } from '../transactions.js';
import type { SqliteDriver } from './sqlite-driver.js';
import { isFull, translateSqliteError } from './sqlite-errors.js';
import { kindOf, type StatementKind } from './statement-kind.js';
import { retryWhileBusy } from './writer.js';

/** A transaction of this runner: the connection it has for itself, and why it can't go on, if so. */
interface Transaction {
  readonly connection: Connection;
  aborted?: Error;
  end(): void;
}

/**
 * One caller's session. In mode `master` its transactions write and wait for a turn; in mode `slave` they read one
 * snapshot and wait for nobody. Statements outside a transaction are transactions of their own.
 */
export class SqliteQueryRunner extends BetterSqlite3QueryRunner {
  declare driver: SqliteDriver;
  private transaction?: Transaction;
  /** Whether a transaction of this runner has just ended. */
  private transactionOver = false;

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
      // TypeORM marks a transaction active before it begins; one that did not begin is not. A nested one counts all the
      // same: TypeORM ends it with a rollback, and that must not be taken for the rollback of the outer one.
      if (this.transaction === undefined) this.isTransactionActive = false;
      else this.transactionDepth += 1;
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
      await this.broadcast(sql, bound, performance.now() - started, outcome.raw);
      return useStructuredResult ? outcome : outcome.raw;
    } catch (error) {
      logger.logQueryError(error as Error, sql, bound, this);
      await this.broadcast(sql, bound, undefined, undefined, error);
      if (OWN_ERRORS.some((type) => error instanceof type)) throw error;
      throw translateSqliteError(error) ?? new QueryFailedError(sql, bound, error as Error);
    }
  }

  private async broadcast(sql: string, bound: unknown[], milliseconds?: number, raw?: unknown, error?: unknown) {
    if (this.dataSource.subscribers.length === 0) return;
    const result = new BroadcasterResult();
    this.broadcaster.broadcastAfterQueryEvent(result, sql, bound, error === undefined, milliseconds, raw, error);
    await result.wait();
  }

  private async execute(sql: string, parameters: unknown[]): Promise<StatementResult> {
    const kind = kindOf(sql);
    if (kind === 'begin') return this.begin();
    if (this.transaction !== undefined) return this.runInTransaction(this.transaction, kind, sql, parameters);
    if (kind === 'rollback') return DONE;
    if (kind === 'commit' || kind === 'savepoint' || kind === 'rollback to') {
      throw new TypeORMError('There is no transaction: call startTransaction() first');
    }
    if (this.transactionOver) await this.stayOpen();
    const { reader, limits } = this.driver;
    if (this.mode === 'slave' || (kind === 'read' && reader.prepare(sql).readonly)) {
      return retryWhileBusy(() => this.run(reader, sql, parameters), limits.busyTimeout);
    }
    return this.writeAlone(sql, parameters, kind === 'delete');
  }

  /**
   * A statement that was on its way when the transaction of its runner ended must not become a transaction of its own. A
   * runner that TypeORM made for one transaction is released by the next turn of the event loop.
   */
  private async stayOpen(): Promise<void> {
    await new Promise(setImmediate);
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    this.transactionOver = false;
  }

  private async writeAlone(sql: string, parameters: unknown[], freesRoom: boolean): Promise<StatementResult> {
    const { writer, reserve, limits } = this.driver;
    const { connection, end } = await writer.turn();
    try {
      if (!freesRoom) reserve.require(connection);
      for (let attempts = 1; ; attempts++) {
        try {
          const result = await retryWhileBusy(() => this.run(connection, sql, parameters), limits.busyTimeout);
          if (!connection.inTransaction) return result;
          connection.run('ROLLBACK');
          throw new TypeORMError('A transaction is begun with startTransaction()');
        } catch (error) {
          if (!isFull(error)) throw error;
          reserve.regainRoom(connection, freesRoom);
          if (attempts === 3) throw error;
        }
      }
    } finally {
      end();
    }
  }

  private runInTransaction(
    transaction: Transaction,
    kind: StatementKind,
    sql: string,
    parameters: unknown[],
  ): StatementResult {
    if (kind === 'rollback') return this.rollback();
    if (transaction.aborted !== undefined) {
      if (kind === 'rollback to') return DONE;
      throw transaction.aborted;
    }
    if (kind === 'commit') return this.commit(transaction);
    try {
      return this.run(transaction.connection, sql, parameters);
    } catch (error) {
      this.afterFailure(transaction, error);
      throw error;
    }
  }

  /**
   * After some errors SQLite has rolled back by itself (https://sqlite.org/lang_transaction.html). After a full volume it
   * may have or not; half a transaction serves nobody, so it is rolled back then.
   */
  private afterFailure(transaction: Transaction, error: unknown): void {
    const { connection } = transaction;
    if (isFull(error) && connection.inTransaction) connection.run('ROLLBACK');
    if (!connection.inTransaction) this.abort(transaction, translateSqliteError(error) ?? (error as Error));
  }

  private async begin(): Promise<StatementResult> {
    if (this.transaction !== undefined) throw new TypeORMError('This query runner has begun a transaction already');
    const transaction = this.mode === 'slave' ? await this.beginReading() : await this.beginWriting();
    this.transaction = transaction;
    if (this.isReleased) {
      this.rollback();
      throw new QueryRunnerAlreadyReleasedError();
    }
    return DONE;
  }

  private async beginReading(): Promise<Transaction> {
    const { snapshots, limits } = this.driver;
    const connection = snapshots.take();
    try {
      connection.run('BEGIN');
      // The state is fixed by the first read, so that is done here.
      await retryWhileBusy(() => connection.run('SELECT 1 FROM sqlite_schema LIMIT 1'), limits.busyTimeout);
    } catch (error) {
      if (connection.inTransaction) connection.run('ROLLBACK');
      snapshots.giveBack(connection);
      throw error;
    }
    return { connection, end: () => snapshots.giveBack(connection) };
  }

  private async beginWriting(): Promise<Transaction> {
    const { writer, reserve, limits } = this.driver;
    const turn = await writer.turn();
    try {
      if (!this.freesRoom) reserve.require(turn.connection);
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
      this.run(transaction.connection, 'COMMIT');
    } catch (error) {
      // A violated deferred constraint leaves the transaction open (https://sqlite.org/foreignkeys.html#fk_deferred).
      this.afterFailure(transaction, error);
      throw error;
    }
    this.transaction = undefined;
    this.transactionOver = true;
    transaction.end();
    return DONE;
  }

  private rollback(): StatementResult {
    const { transaction } = this;
    this.transaction = undefined;
    this.transactionOver = true;
    if (transaction === undefined || transaction.aborted !== undefined) return DONE;
    try {
      if (transaction.connection.inTransaction) transaction.connection.run('ROLLBACK');
    } finally {
      transaction.end();
    }
    return DONE;
  }

  private run(connection: Connection, sql: string, parameters: unknown[] = []): StatementResult {
    const started = performance.now();
    try {
      return connection.run(sql, parameters);
    } finally {
      const milliseconds = performance.now() - started;
      const { maxQueryExecutionTime = Infinity } = this.driver.options;
      if (milliseconds > maxQueryExecutionTime) {
        this.dataSource.logger.logQuerySlow(Math.round(milliseconds), sql, parameters, this);
      }
      if (statementTimings.hasSubscribers) {
        const kind = connection.database.readonly ? 'read' : 'write';
        statementTimings.publish({ kind, seconds: milliseconds / 1000 });
      }
    }
  }

  private abort(transaction: Transaction, reason: Error): void {
    transaction.aborted = reason;
    if (reason instanceof DiskFullError) this.driver.reserve.regainRoom(transaction.connection, this.freesRoom);
    transaction.end();
  }

  private get freesRoom(): boolean {
    return (this.data as TransactionOptions).freesRoom === true;
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
