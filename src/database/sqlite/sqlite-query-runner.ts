import {
  QueryResult,
  QueryRunnerAlreadyReleasedError,
  type ReplicationMode,
  type Table,
  type TableColumn,
  type TableIndex,
  TypeORMError,
} from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { Query } from 'typeorm/driver/Query.js';
import type { ColumnType } from 'typeorm/driver/types/ColumnTypes.js';
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js';
import {
  conversions,
  dropChecks,
  dropUniques,
  renameInPlace,
  storedDefault,
  typeOnSqlite,
  withMilliseconds,
} from './column-changes.js';
import { REFERRING, referredTo, type Row, type SqliteConnection, type StatementResult } from './sqlite-connection.js';
import { HAS_BEGUN, LEFT_OPEN, rejectLateStatement } from '../transaction-control.js';
import { rejectSharedPragma, type StatementKind, statementKindOf } from './statement-kind.js';
import { explained } from './sqlite-errors.js';
import { completeTable, unknownColumns, withColumns } from './table-definition.js';
import type { WriteTransaction } from './writing/write-transaction.js';
import type { Writer } from './writing/writer.js';

/** The parts of the driver that a query runner uses. `read` runs a reading statement outside a transaction. */
export interface SqliteConnections extends BetterSqlite3Driver {
  readonly reader: SqliteConnection;
  readonly writer: Writer;
  read(sql: string, parameters: readonly unknown[]): StatementResult | Promise<StatementResult>;
}

/** The session of one caller. A transaction waits for the slot of the writer; a single statement is one by itself. */
export class SqliteQueryRunner extends BetterSqlite3QueryRunner {
  declare driver: SqliteConnections;
  private transaction?: WriteTransaction;
  /** Set while foreign keys are off, from `beforeMigration` until `afterMigration` outside a transaction. */
  private migrating = false;
  /** Settles when the last transaction has ended on disk. Absent after the next statement. */
  private ending?: Promise<unknown>;
  /** Error of the commit that the last rollback waited for. TypeORM ignores errors of its rollbacks. */
  private rollbackFailure?: Error;

  constructor(driver: SqliteConnections, mode: ReplicationMode) {
    super(driver);
    this.mode = mode;
  }

  /** The raw connection, with which TypeORM reads the schema. */
  override connect(): Promise<unknown> {
    const { driver, transaction } = this;
    return Promise.resolve(transaction === undefined ? driver.reader.database : (driver.databaseConnection as unknown));
  }

  /**
   * Rolls back a forgotten transaction, which would block others.
   * @throws the error of a failed commit whose rows the last transaction read before its rollback. TypeORM releases in
   * `finally`, so it replaces an error that depends on these rows.
   */
  override async release(): Promise<void> {
    if (this.isReleased) return;
    if (this.transaction !== undefined) this.dataSource.logger.log('warn', LEFT_OPEN);
    const ended = this.endTransaction();
    this.isReleased = true;
    await super.release();
    await ended;
    // TypeORM calls `afterMigration` only after a successful migration.
    await this.afterMigration();
    if (this.rollbackFailure !== undefined) throw this.rollbackFailure;
  }

  /** Ignores the isolation level: every transaction is serializable, which is as strict as any level. */
  override async startTransaction(): Promise<void> {
    const outerDepth = this.transactionDepth;
    try {
      await super.startTransaction();
    } catch (error) {
      // TypeORM marks a transaction active before it begins, so a failed begin removes the mark. A nested transaction
      // stays counted, because TypeORM ends it with a rollback, which must not roll back the outer one.
      if (this.transaction === undefined) this.isTransactionActive = false;
      else this.transactionDepth = outerDepth + 1;
      throw error;
    }
  }

  /**
   * Switches foreign keys off; otherwise `DROP TABLE` in a rebuild of a table would delete the rows that refer to it.
   * SQLite ignores the pragma inside a transaction, so `changeSchema` calls this method before it begins one.
   * @throws {TypeORMError} inside a transaction
   */
  override async beforeMigration(): Promise<void> {
    if (this.migrating) return;
    if (this.transaction !== undefined) throw new TypeORMError(TOO_LATE);
    await this.driver.writer.autocommit('PRAGMA foreign_keys = OFF');
    this.migrating = true;
  }

  /** Enforces foreign keys again. While a transaction is open, it only checks them. */
  override async afterMigration(): Promise<void> {
    if (!this.migrating) return;
    if (this.transaction !== undefined) return this.rejectOrphans();
    this.migrating = false;
    await this.driver.writer.autocommit('PRAGMA foreign_keys = ON');
  }

  /** `dataSource.dropDatabase()` switches foreign keys off, which outside a migration is an error. */
  override async clearDatabase(database?: string): Promise<void> {
    await this.beforeMigration();
    try {
      await super.clearDatabase(database);
    } finally {
      await this.afterMigration();
    }
  }

  /** TypeORM would leave a foreign key to the table itself with the old name. */
  override async renameTable(table: Table | string, name: string): Promise<void> {
    const known = typeof table === 'string' ? await this.getCachedTable(table) : table;
    for (const key of known.foreignKeys) if (key.referencedTableName === known.name) key.referencedTableName = name;
    return super.renameTable(known, name);
  }

  /** @throws {TypeORMError} for a row whose parent is missing, unless it was so before the transaction */
  private async rejectOrphans(): Promise<void> {
    const orphans = (await this.query(ORPHANS)) as Row[];
    if (orphans.length === 0) return;
    const known = new Set((await this.driver.read(ORPHANS, [])).rows?.map((row) => JSON.stringify(row)));
    const orphan = orphans.find((row) => !known.has(JSON.stringify(row)));
    if (orphan === undefined) return;
    const { table, parent } = orphan as { table: string; parent: string };
    throw new TypeORMError(
      `A row of "${table}" refers to a row of "${parent}" that does not exist. SQLite runs migrations without foreign ` +
        `keys, so that a DELETE neither cascades nor fails: delete or change such rows of "${table}" in the migration`,
    );
  }

  /** @throws {TypeORMError} while foreign keys are on, for a table that others, or its own rows, refer to */
  protected override async recreateTable(changed: Table, table: Table, migrateData?: boolean): Promise<void> {
    if (!this.migrating && !this.sqlMemoryMode) {
      const [child] = (await this.query(REFERRING, [table.name])) as [{ name: string }?];
      if (child !== undefined) throw referredTo(table.name, child.name);
    }
    renameInPlace(changed, table);
    dropChecks(changed, table);
    dropUniques(changed, table);
    // TypeORM gives the old table the new columns then.
    const { up, down } = conversions(changed, table);
    const indices = this.sqlMemoryMode ? [] : await this.newIndices(table);
    // A revert runs the statements backwards, so these come after the rebuild there, too.
    await this.executeQueries([], [...indices, ...down]);
    await super.recreateTable(changed, table, migrateData);
    await this.executeQueries([...up, ...indices], []);
  }

  /** The indices that SQL has made after TypeORM read the table. */
  private async newIndices({ name: table, indices }: Table): Promise<Query[]> {
    const made = (await this.query(INDICES, [table])) as Definition[];
    return made.filter(({ name }) => !indices.some((index) => index.name === name)).map(({ sql }) => new Query(sql));
  }

  protected override async loadTables(names?: string[]): Promise<Table[]> {
    const tables = await super.loadTables(names);
    for (const table of tables) {
      const [{ sql }] = (await this.query(TABLE, [table.name])) as [Definition];
      completeTable(table, sql, (expression) => this.dataSource.namingStrategy.checkConstraintName(table, expression));
      const indices = (await this.query(INDICES, [table.name])) as Definition[];
      for (const index of table.indices) {
        const known = super.createIndexSql(table, index).query;
        index.parser = unknownColumns(indices.find(({ name }) => name === index.name)!.sql, known);
      }
    }
    return tables;
  }

  /** `parser`, which TypeORM uses for MySQL only, has the columns and the condition of an index as `unknownColumns`. */
  protected override createIndexSql(table: Table, index: TableIndex): Query {
    const { query, parameters } = super.createIndexSql(table, index);
    return new Query(index.parser === undefined ? query : withColumns(query, index.parser), parameters);
  }

  /** Translates the type and the default of a column, which a migration names for both engines, to those of SQLite. */
  protected override buildCreateColumnSql(column: TableColumn, skipPrimary?: boolean): string {
    const copy = column.clone();
    const type = typeOnSqlite(column.type) as ColumnType;
    copy.type = this.driver.normalizeType({ ...column, type });
    copy.default = storedDefault(column);
    return super.buildCreateColumnSql(copy, skipPrimary);
  }

  /** Throws the errors of `transaction` in engine.ts, or a `QueryFailedError` for an error of the statement. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature is TypeORM's
  override async query(sql: string, parameters: unknown[] = [], useStructuredResult = false): Promise<any> {
    if (this.isReleased && this.ending !== undefined) await this.rejectLate(sql);
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    if (!Array.isArray(parameters)) throw new TypeORMError('SQLite statements take their parameters as an array');
    const { logger, subscribers } = this.dataSource;
    logger.logQuery(sql, parameters, this);
    // Without subscribers, statements get their slots in the order of the calls.
    if (subscribers.length > 0) await this.broadcaster.broadcast('BeforeQuery', sql, parameters);
    const started = performance.now();
    try {
      const { rows, changes, lastInsertRowid } = await this.execute(sql, parameters);
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
    if (kind === 'begin' || kind === 'rollback' || kind === 'commit') {
      // `statementKindOf` looks at the first word only; SQLite's parser checks the rest.
      this.driver.reader.prepare(sql);
      return this[kind]().then(() => ({ changes: 0 }));
    }
    if (kind === 'temporary') throw new TypeORMError(TEMPORARY);
    if (kind === 'autocommit') {
      rejectSharedPragma(sql, [this.migrating && 'foreign_keys', this.transaction && 'defer_foreign_keys']);
    }
    // TypeORM sets dates of updates and deletions to the current second, whatever the driver declares.
    const statement = sql.startsWith('UPDATE') ? withMilliseconds(sql) : sql;
    if (this.transaction === undefined) return this.executeOutside(kind, statement, parameters);
    return this.transaction.run(statement, parameters);
  }

  private async executeOutside(kind: StatementKind, sql: string, parameters: unknown[]): Promise<StatementResult> {
    if (kind === 'savepoint') throw new TypeORMError(NO_TRANSACTION);
    if (this.ending !== undefined) await this.rejectLate(sql);
    this.ending = undefined;
    const { reader, writer } = this.driver;
    if (kind === 'read' && reader.prepare(sql).readonly) return this.driver.read(sql, parameters);
    return kind === 'autocommit' ? writer.autocommit(sql, parameters) : writer.run(sql, parameters, kind === 'delete');
  }

  private async rejectLate(sql: string): Promise<void> {
    await this.ending?.catch(() => undefined);
    await rejectLateStatement(sql, () => this.isReleased, this.dataSource.logger);
  }

  private async begin(): Promise<void> {
    if (this.transaction !== undefined) throw new TypeORMError(HAS_BEGUN);
    this.transaction = await this.driver.writer.begin(false);
    this.rollbackFailure = undefined;
    if (this.isReleased) {
      await this.endTransaction();
      throw new QueryRunnerAlreadyReleasedError();
    }
  }

  private async commit(): Promise<void> {
    const { transaction } = this;
    if (transaction === undefined) throw new TypeORMError(NO_TRANSACTION);
    // The transaction has ended even if the commit fails, because then it is rolled back.
    const committed = transaction.commit();
    this.transaction = undefined;
    this.ending = committed;
    await committed;
  }

  private async rollback(): Promise<void> {
    if (this.transaction === undefined) return;
    await this.endTransaction();
    if (this.rollbackFailure === undefined) return;
    // TypeORM keeps the transaction active when a rollback rejects, but it is over.
    this.isTransactionActive = false;
    this.transactionDepth = 0;
    throw this.rollbackFailure;
  }

  /** Rolls back an open transaction, and waits until the data that it read is on disk. */
  private async endTransaction(): Promise<void> {
    const { transaction } = this;
    if (transaction === undefined) return;
    const settled = transaction.rollback();
    this.transaction = undefined;
    this.ending = settled;
    await settled.catch((error: Error) => (this.rollbackFailure = error));
  }
}

interface Definition {
  readonly name: string;
  readonly sql: string;
}

const TABLE = `SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name = ?`;

/** Constraints have no SQL of their own. */
const INDICES = `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?`;

const ORPHANS = 'SELECT DISTINCT "table", parent FROM pragma_foreign_key_check';

const TEMPORARY =
  'All callers write through one connection, where each of them would see a temporary table: use an ordinary table, ' +
  'or WITH in the statement';
const TOO_LATE =
  'Foreign keys cannot be switched off inside a transaction: call beforeMigration() before startTransaction()';
const NO_TRANSACTION = 'There is no transaction: call startTransaction() first';
