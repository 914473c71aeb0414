import {
  type DataSource,
  type DataSourceOptions,
  DeleteQueryBuilder,
  InsertQueryBuilder,
  type ObjectLiteral,
  SelectQueryBuilder,
  UpdateQueryBuilder,
} from 'typeorm';
import type { WhereClause, WhereClauseCondition } from 'typeorm/query-builder/WhereClause.js';
import { SoftDeleteQueryBuilder } from 'typeorm/query-builder/SoftDeleteQueryBuilder.js';
import { GuardedDataSource } from '../transaction-control.js';
import { betterSqlite3 } from './better-sqlite3.js';
import { NOW, SqliteDriver } from './sqlite-driver.js';
import type { WriterLimits } from './writing/writer.js';

/** Makes a data source on SQLite from TypeORM's options and the settings of the engine. */
export function createSqliteDataSource(
  database: { readonly path: string } & WriterLimits,
  options: Partial<DataSourceOptions>,
): DataSource {
  const dataSource = new SqliteDataSource({
    ...options,
    type: 'better-sqlite3',
    driver: betterSqlite3(),
    database: database.path,
  } as DataSourceOptions);
  // TypeORM creates its own driver in the constructor and has no option for another. Nothing has used that driver yet.
  dataSource.driver = new SqliteDriver(dataSource, database);
  return dataSource;
}

class SqliteDataSource extends GuardedDataSource {
  protected override readonly QueryBuilder = SqliteQueryBuilder;
}

type Where = Parameters<DeleteQueryBuilder<ObjectLiteral>['where']>[0];

/** Number of alternatives in one level of an expression, whose depth is at most 1000 (https://sqlite.org/limits.html). */
const MOST_ALTERNATIVES = 500;

/** Splits a long list of alternatives, such as the ids of inserted rows, into several levels. */
function inLevels(condition: WhereClauseCondition): WhereClauseCondition {
  if (!Array.isArray(condition) || condition.length <= MOST_ALTERNATIVES) return condition;
  const levels: WhereClause[] = [];
  for (let start = 0; start < condition.length; start += MOST_ALTERNATIVES) {
    levels.push({ type: 'or', condition: condition.slice(start, start + MOST_ALTERNATIVES) });
  }
  return levels;
}

/**
 * TypeORM's query builder with dates in milliseconds. It accepts pessimistic locks and ignores them, because a
 * transaction on SQLite locks the whole database (`BEGIN IMMEDIATE`). Outside a transaction a lock is an error, as on
 * PostgreSQL.
 */
class SqliteQueryBuilder<Entity extends ObjectLiteral> extends SelectQueryBuilder<Entity> {
  protected override createLockExpression(): string {
    return '';
  }

  protected override getWhereCondition(where: Where): WhereClauseCondition {
    return inLevels(super.getWhereCondition(where));
  }

  override insert(): InsertQueryBuilder<Entity> {
    return new SqliteInsertQueryBuilder(super.insert());
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- stands for the four overloads of TypeORM
  override update(...parameters: any[]): any {
    return new SqliteUpdateQueryBuilder(super.update(...(parameters as [])));
  }

  override delete(): DeleteQueryBuilder<Entity> {
    return new SqliteDeleteQueryBuilder(super.delete());
  }

  override softDelete(): SoftDeleteQueryBuilder<ObjectLiteral> {
    return new SqliteSoftDeleteQueryBuilder(super.softDelete());
  }

  override restore(): SoftDeleteQueryBuilder<ObjectLiteral> {
    return new SqliteSoftDeleteQueryBuilder(super.restore());
  }
}

class SqliteInsertQueryBuilder<Entity extends ObjectLiteral> extends InsertQueryBuilder<Entity> {
  /**
   * Makes an upsert of an existing row set its update date to the current time. TypeORM would set the default of the
   * column, which SQLite does not support here.
   */
  protected override createInsertExpression(): string {
    const sql = super.createInsertExpression();
    const { mainAlias, onUpdate } = this.expressionMap;
    if (onUpdate === undefined || !mainAlias?.hasMetadata) return sql;
    const { updateDateColumn: column } = mainAlias.metadata;
    if (column === undefined || onUpdate.overwrite?.includes(column.databaseName)) return sql;
    return sql.replace(UPSERT, () => `${UPSERT}${this.escape(column.databaseName)} = ${NOW}, `);
  }
}

const UPSERT = ' DO UPDATE SET ';

class SqliteDeleteQueryBuilder<Entity extends ObjectLiteral> extends DeleteQueryBuilder<Entity> {
  protected override getWhereCondition(where: Where): WhereClauseCondition {
    return inLevels(super.getWhereCondition(where));
  }
}

class SqliteUpdateQueryBuilder<Entity extends ObjectLiteral> extends UpdateQueryBuilder<Entity> {
  protected override createUpdateExpression(): string {
    return withMilliseconds(super.createUpdateExpression());
  }
}

class SqliteSoftDeleteQueryBuilder<Entity extends ObjectLiteral> extends SoftDeleteQueryBuilder<Entity> {
  protected override createUpdateExpression(): string {
    return withMilliseconds(super.createUpdateExpression());
  }
}

/** Replaces `CURRENT_TIMESTAMP`, which TypeORM sets whatever the driver declares: it has whole seconds on SQLite. */
function withMilliseconds(sql: string): string {
  return sql.replaceAll(' = CURRENT_TIMESTAMP', ` = ${NOW}`);
}
