import {
  QueryResult,
  QueryRunnerAlreadyReleasedError,
  type ReplicationMode,
  type Table,
  type TableColumn,
  TypeORMError,
} from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import type { ColumnType } from 'typeorm/driver/types/ColumnTypes.js';
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js';
import {
  type OpenTransaction,
  rejectRoundedIntegers,
  type SqliteConnection,
  type StatementResult,
} from './sqlite-connection.js';
import { lateStatement } from '../transaction-control.js';
import { rejectSharedPragma, type StatementKind, statementKindOf } from './statement-kind.js';
import { explained } from './sqlite-errors.js';
import type { Snapshots } from './reading/snapshots.js';
import type { Writer } from './writing/writer.js';

/** The connections of the driver that a query runner uses. */
export interface SqliteConnections extends BetterSqlite3Driver {
  readonly reader: SqliteConnection;
  readonly writer: Writer;
  readonly snapshots: Snapshots;
  /** Runs a reading statement outside a transaction. */
  read(sql: string, parameters: readonly unknown[]): Promise<StatementResult>;
}

/**
 * The session of one caller. In mode `master` its transactions write and wait for a slot. In mode `slave` they read one
 * snapshot without waiting. A statement outside a transaction is a transaction by itself.
 */
export class SqliteQueryRunner extends BetterSqlite3QueryRunner {
  declare driver: SqliteConnections;
  private transaction?: OpenTransaction;
  /** Whether the transaction has run no statement yet. */
  private transactionIsNew = false;
  private hasTemporaries = false;
  /** Set from `beforeMigration` until `afterMigration`, or until the end of the transaction around them. */
  private migrating: 'yes' | 'ending' | undefined;
  private transactionOver = false;
  /** Error of the commit that the last rollback waited for. TypeORM swallows errors of its own rollbacks. */
  private rollbackFailure?: Error;

  constructor(driver: SqliteConnections, mode: ReplicationMode) {
    super(driver);
    this.mode = mode;
  }

  /** The raw connection, with which TypeORM reads the schema. */
  override connect(): Promise<unknown> {
    const isWriting = this.transaction !== undefined && this.mode === 'master';
    return Promise.resolve(isWriting ? (this.driver.databaseConnection as unknown) : this.driver.reader.database);
  }

  /**
   * Rolls back a forgotten transaction, which would block others.
   * @throws the error of a failed commit, if the last transaction had read rows of that commit before its rollback.
   * TypeORM releases in `finally`, so this error replaces an error that depends on these rows.
   */
  override async release(): Promise<void> {
    if (this.isReleased) return;
    const ended = this.endTransaction();
    this.isReleased = true;
    await super.release();
    await ended;
    // TypeORM calls `afterMigration` only after a successful migration.
    if (this.migrating !== undefined) await this.endMigration();
    if (this.rollbackFailure !== undefined) throw this.rollbackFailure;
  }

  /** Ignores the isolation level: every transaction is serializable, which is as strict as any level. */
  override async startTransaction(): Promise<void> {
    try {
      await super.startTransaction();
    } catch (error) {
      // TypeORM marks a transaction active before it begins, so a failed begin removes the mark. A nested transaction
      // stays counted, because TypeORM ends it with a rollback, which must not roll back the outer one.
      if (this.transaction === undefined) this.isTransactionActive = false;
      else this.transactionDepth += 1;
      throw error;
    }
  }

  override async rollbackTransaction(): Promise<void> {
    try {
      await super.rollbackTransaction();
    } catch (error) {
      // The transaction is rolled back, although the rollback rejects.
      if (this.transaction === undefined && this.rollbackFailure !== undefined) {
        this.isTransactionActive = false;
        this.transactionDepth = 0;
      }
      throw error;
    }
  }

  /**
   * Switches foreign keys off; otherwise `DROP TABLE` in a rebuild of a table would delete the rows that refer to it.
   * TypeORM begins the transaction of a migration before this call, but that of a revert after it. SQLite ignores the
   * pragma inside a transaction, so this method ends the transaction and begins it again.
   * @throws {TypeORMError} inside a transaction that has run statements
   */
  override async beforeMigration(): Promise<void> {
    if (this.migrating !== undefined) return;
    const isInTransaction = this.transaction !== undefined;
    if (isInTransaction && !this.transactionIsNew) throw new TypeORMError(TOO_LATE);
    await this.endTransaction();
    this.transactionOver = false;
    await this.enforceForeignKeys(false);
    this.migrating = 'yes';
    if (isInTransaction) await this.begin();
  }

  /** Enforces foreign keys again, after the transaction if there is one. */
  override async afterMigration(): Promise<void> {
    if (this.migrating === undefined) return;
    this.migrating = 'ending';
    if (this.transaction === undefined) await this.endMigration();
  }

  /** Also renames the column in the CHECKs of the table, which TypeORM would not do. */
  override async renameColumn(
    table: Table | string,
    oldColumn: TableColumn | string,
    newColumn: TableColumn | string,
  ): Promise<void> {
    const known = typeof table === 'string' ? await this.getCachedTable(table) : table;
    const [before, after] = [oldColumn, newColumn].map((column) => (typeof column === 'string' ? column : column.name));
    for (const check of known.checks) {
      check.expression = check.expression?.replaceAll(`"${before}"`, () => `"${after}"`);
    }
    return super.renameColumn(known, oldColumn, newColumn);
  }

  /** Writes the type and the default of the entity's column for those of a migration that runs on both engines. */
  protected override buildCreateColumnSql(column: TableColumn, skipPrimary?: boolean): string {
    const copy = column.clone();
    const isInstant = column.type.startsWith('timestamp');
    copy.type = isInstant ? 'datetime' : this.driver.normalizeType({ type: column.type as ColumnType });
    if (typeof column.default === 'boolean') copy.default = Number(column.default);
    return super.buildCreateColumnSql(copy, skipPrimary);
  }

  override async clearDatabase(database?: string): Promise<void> {
    await this.beforeMigration();
    try {
      await super.clearDatabase(database);
    } finally {
      await this.afterMigration();
    }
  }

  /**
   * @throws {QueryFailedError} for an error of the statement or a violated constraint
   * @throws {DatabaseUnavailableError} for a locked or damaged database, or a transaction that took too long
   * @throws {OutcomeUnknownError} when a COMMIT failed but the file may contain its changes
   * @throws {DiskFullError} when the volume is full; then the whole transaction is rolled back
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature is TypeORM's
  override async query(sql: string, parameters: unknown[] = [], useStructuredResult = false): Promise<any> {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    if (!Array.isArray(parameters)) throw new TypeORMError('SQLite statements take their parameters as an array');
    const { logger, subscribers } = this.dataSource;
    logger.logQuery(sql, parameters, this);
    // Without subscribers, statements get their slots in the order of the calls.
    if (subscribers.length > 0) await this.broadcaster.broadcast('BeforeQuery', sql, parameters);
    const started = performance.now();
    try {
      const result = await this.execute(sql, parameters);
      rejectRoundedIntegers(result);
      const { rows, changes, lastInsertRowid } = result;
      const values = rows ? { raw: rows, records: rows } : { raw: lastInsertRowid, affected: changes };
      const outcome = Object.assign(new QueryResult(), values);
      const milliseconds = performance.now() - started;
      await this.broadcaster.broadcast('AfterQuery', sql, parameters, true, milliseconds, outcome.raw, undefined);
      return useStructuredResult ? outcome : outcome.raw;
    } catch (error) {
      logger.logQueryError(error as Error, sql, parameters, this);
      await this.broadcaster.broadcast('AfterQuery', sql, parameters, false, undefined, undefined, error);
      throw explained(error, sql, parameters);
    }
  }

  private execute(sql: string, parameters: unknown[]): StatementResult | Promise<StatementResult> {
    const kind = statementKindOf(sql);
    switch (kind) {
      case 'begin':
        this.checkControl(sql);
        return this.begin();
      case 'rollback':
        this.checkControl(sql);
        return this.rollback();
      case 'commit':
        this.checkControl(sql);
        return this.commit();
      case 'autocommit':
        rejectSharedPragma(sql, this.migrating !== undefined);
        break;
      case 'temporary':
        if (this.transaction === undefined) throw new TypeORMError(TEMPORARY);
        this.hasTemporaries = true;
    }
    const { transaction } = this;
    if (this.mode === 'slave' && !this.driver.reader.prepare(sql).readonly) throw new TypeORMError(READS_ONLY);
    if (transaction === undefined) return this.executeOutside(kind, sql, parameters);
    this.transactionIsNew = false;
    return transaction.run(sql, parameters);
  }

  /** `statementKindOf` looks at the first word only; SQLite's parser checks the rest. */
  private checkControl(sql: string): void {
    this.driver.reader.prepare(sql);
  }

  private async executeOutside(kind: StatementKind, sql: string, parameters: unknown[]): Promise<StatementResult> {
    if (kind === 'savepoint' || kind === 'rollback to') throw new TypeORMError(NO_TRANSACTION);
    if (this.transactionOver) await this.stayOpen(sql);
    const { reader, writer } = this.driver;
    if (this.mode === 'slave' || (kind === 'read' && reader.prepare(sql).readonly)) {
      return this.driver.read(sql, parameters);
    }
    return kind === 'autocommit' ? writer.autocommit(sql, parameters) : writer.run(sql, parameters, kind === 'delete');
  }

  /**
   * Rejects a statement that was in flight when its transaction ended: it would run outside the transaction. TypeORM
   * releases the runner of `dataSource.transaction` by the next turn of the event loop.
   */
  private async stayOpen(sql: string): Promise<void> {
    await new Promise(setImmediate);
    if (this.isReleased) {
      this.dataSource.logger.log('warn', lateStatement(sql));
      throw new QueryRunnerAlreadyReleasedError();
    }
    this.transactionOver = false;
  }

  private async begin(): Promise<StatementResult> {
    if (this.transaction !== undefined) throw new TypeORMError('This query runner has begun a transaction already');
    const { snapshots, writer } = this.driver;
    this.transaction = await (this.mode === 'slave' ? snapshots.begin() : writer.begin(false));
    this.transactionIsNew = true;
    this.hasTemporaries = false;
    this.rollbackFailure = undefined;
    if (this.isReleased) {
      await this.endTransaction();
      throw new QueryRunnerAlreadyReleasedError();
    }
    return DONE;
  }

  private async commit(): Promise<StatementResult> {
    const { transaction } = this;
    if (transaction === undefined) throw new TypeORMError(NO_TRANSACTION);
    if (this.hasTemporaries) dropTemporaries(transaction);
    // The transaction has ended even if the commit fails, because then it is rolled back.
    const committed = transaction.commit();
    this.transaction = undefined;
    this.transactionOver = true;
    try {
      await committed;
    } finally {
      if (this.migrating === 'ending') await this.endMigration();
    }
    return DONE;
  }

  private async endMigration(): Promise<void> {
    this.migrating = undefined;
    await this.enforceForeignKeys(true);
  }

  /** Switches foreign keys off or on for all callers, while no transaction is open. */
  private async enforceForeignKeys(isOn: boolean): Promise<void> {
    await this.driver.writer.autocommit(`PRAGMA foreign_keys = ${isOn ? 'ON' : 'OFF'}`);
  }

  private async rollback(): Promise<StatementResult> {
    if (this.transaction === undefined) return DONE;
    await this.endTransaction();
    if (this.rollbackFailure !== undefined) throw this.rollbackFailure;
    return DONE;
  }

  /** Rolls back an open transaction, and waits until the data that it read is on disk. */
  private async endTransaction(): Promise<void> {
    const { transaction } = this;
    if (transaction === undefined) return;
    const settled = transaction.rollback();
    this.transaction = undefined;
    this.transactionOver = true;
    try {
      await settled;
    } catch (error) {
      this.rollbackFailure = error as Error;
    }
    if (this.migrating === 'ending') await this.endMigration();
  }
}

/** On the shared connection, a temporary table would hide a table for all callers. */
function dropTemporaries(transaction: OpenTransaction): void {
  const { rows = [] } = transaction.run(
    `SELECT type, name FROM sqlite_temp_schema WHERE type IN ('trigger', 'view', 'table')`,
  );
  for (const { type, name } of rows) {
    transaction.run(`DROP ${String(type)} IF EXISTS temp."${String(name).replaceAll('"', '""')}"`);
  }
}

const READS_ONLY = "A query runner in mode 'slave' only reads: use createQueryRunner() to write";
const TEMPORARY =
  'All callers write through one connection, where each of them would see a temporary table: create it inside ' +
  'dataSource.transaction(...), which drops it at its end';
const DONE: StatementResult = { changes: 0 };
const TOO_LATE =
  'Foreign keys can only be switched off before the transaction does anything: ' +
  'call beforeMigration() before startTransaction()';
const NO_TRANSACTION = 'There is no transaction: call startTransaction() first';
