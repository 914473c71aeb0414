import {
  DataSource,
  type EntityTarget,
  type Logger,
  type Migration,
  type ObjectLiteral,
  type QueryRunner,
  QueryRunnerAlreadyReleasedError,
  type SelectQueryBuilder,
  TypeORMError,
} from 'typeorm';
import { protectVersions, useNumberKeys } from './columns.js';
import { changeSchema, type MigrationOptions } from './schema/migrations.js';
import { rejectOwnTables } from './schema/own-tables.js';

/** White space, empty statements and comments before a statement, for example of tracing tools (sqlcommenter). */
const LEAD = /^(?:[\s;]+|--[^\n]*|\/\*[\s\S]*?\*\/)*/;

const CONTROL = /^(?:BEGIN|START\s+TRANSACTION|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE)\b/i;

const BEGIN = /^((?:BEGIN|START\s+TRANSACTION)\b[^;]*)[;\s]*$/i;
const COMMIT = /^(?:COMMIT|END)(?:\s+(?:WORK|TRANSACTION))?[;\s]*$/i;

const NO_RUNNER =
  'Without its own query runner, a transaction ends with the statement that begins it. Use ' +
  'dataSource.transaction(...), or call startTransaction() on the result of dataSource.createQueryRunner()';

/**
 * A data source with the query builder of its engine. Its `query` takes a connection for one statement, so it rejects
 * transaction control: `BEGIN` would end immediately or include statements of others.
 */
export abstract class GuardedDataSource extends DataSource {
  protected abstract readonly QueryBuilder: typeof SelectQueryBuilder;

  override createQueryBuilder<Entity extends ObjectLiteral>(
    entityOrRunner?: EntityTarget<Entity> | QueryRunner,
    alias?: string,
    queryRunner?: QueryRunner,
  ): SelectQueryBuilder<Entity> {
    if (alias === undefined) return new this.QueryBuilder<Entity>(this, entityOrRunner as QueryRunner | undefined);
    const { target } = this.getMetadata(entityOrRunner as EntityTarget<Entity>);
    return new this.QueryBuilder<Entity>(this, queryRunner).select(alias).from(target as EntityTarget<Entity>, alias);
  }

  protected override async buildMetadatas(): Promise<void> {
    await super.buildMetadatas();
    rejectOwnTables(this.entityMetadatas);
    useNumberKeys(this.entityMetadatas);
    protectVersions(this.entityMetadatas);
  }

  override runMigrations(options?: MigrationOptions): Promise<Migration[]> {
    return changeSchema(this, 'executePendingMigrations', options);
  }

  override async undoLastMigration(options?: MigrationOptions): Promise<void> {
    await changeSchema(this, 'undoLastMigration', options);
  }

  /** @throws {TypeORMError} for `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT` and the like without a query runner */
  override async query<T>(sql: string, parameters?: unknown[] | ObjectLiteral, queryRunner?: QueryRunner): Promise<T> {
    if (queryRunner === undefined && CONTROL.test(withoutLead(sql))) throw new TypeORMError(NO_RUNNER);
    // TypeORM would reject the statement, too, but the log would not name it.
    if (queryRunner?.isReleased === true) await queryRunner.query(sql);
    return super.query<T>(sql, parameters, queryRunner);
  }
}

/** The `BEGIN` statement without its semicolon, if the string holds nothing else. */
export function beginOf(sql: string): string | undefined {
  return BEGIN.exec(withoutLead(sql))?.[1];
}

export function isCommit(sql: string): boolean {
  return COMMIT.test(withoutLead(sql));
}

export function withoutLead(sql: string): string {
  return sql.slice(LEAD.exec(sql)![0].length);
}

export const HAS_BEGUN = 'This query runner has begun a transaction already';

export const TRANSACTION_ENDED = new TypeORMError('The transaction has ended');

export const LEFT_OPEN = 'A query runner was released inside an open transaction, which was rolled back';

/**
 * Rejects a statement after the end of its transaction if its runner was released: it would run outside the
 * transaction. TypeORM releases the runner of `dataSource.transaction` by the next turn of the event loop.
 */
export async function rejectLateStatement(sql: string, isReleased: () => boolean, logger: Logger): Promise<void> {
  await new Promise(setImmediate);
  if (!isReleased()) return;
  const advice = 'await every call inside dataSource.transaction(...)';
  logger.log('warn', `A statement came after the end of its transaction and was not run; ${advice}: ${sql}`);
  throw new QueryRunnerAlreadyReleasedError();
}
