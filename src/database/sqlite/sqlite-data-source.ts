import {
  type DataSource,
  type DataSourceOptions,
  DeleteQueryBuilder,
  InsertQueryBuilder,
  type ObjectLiteral,
  SelectQueryBuilder,
  UpdateQueryBuilder,
} from 'typeorm';
import type { WhereClause } from 'typeorm/query-builder/WhereClause.js';
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

/** Number of alternatives in one level of an expression, whose depth is at most 1000 (https://sqlite.org/limits.html). */
const MOST_ALTERNATIVES = 200;

/** Splits a long list of alternatives, such as the ids of inserted rows, into several levels. */
function inLevels(clauses: WhereClause[]): WhereClause[] {
  if (clauses.length <= MOST_ALTERNATIVES) return clauses;
  // AND binds tighter than OR, so a mixed list stays as it is.
  if (clauses.slice(1).some(({ type }) => type !== 'or')) return clauses;
  const levels: WhereClause[] = [];
  for (let start = 0; start < clauses.length; start += MOST_ALTERNATIVES) {
    levels.push({ type: 'or', condition: clauses.slice(start, start + MOST_ALTERNATIVES) });
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

  protected override createWhereClausesExpression(clauses: WhereClause[]): string {
    return super.createWhereClausesExpression(inLevels(clauses));
  }

  protected override buildWhere(where: unknown, ...others: never[]): string {
    const build = super.buildWhere.bind(this) as (where: unknown, ...others: never[]) => string;
    if (!Array.isArray(where) || where.length <= MOST_ALTERNATIVES) return build(where, ...others);
    const levels: string[] = [];
    for (let start = 0; start < where.length; start += MOST_ALTERNATIVES) {
      levels.push(`(${build(where.slice(start, start + MOST_ALTERNATIVES), ...others)})`);
    }
    return levels.join(' OR ');
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
  protected override createWhereClausesExpression(clauses: WhereClause[]): string {
    return super.createWhereClausesExpression(inLevels(clauses));
  }
}

class SqliteUpdateQueryBuilder<Entity extends ObjectLiteral> extends UpdateQueryBuilder<Entity> {
  protected override createWhereClausesExpression(clauses: WhereClause[]): string {
    return super.createWhereClausesExpression(inLevels(clauses));
  }

  protected override createUpdateExpression(): string {
    return withMilliseconds(super.createUpdateExpression());
  }
}

class SqliteSoftDeleteQueryBuilder<Entity extends ObjectLiteral> extends SoftDeleteQueryBuilder<Entity> {
  protected override createWhereClausesExpression(clauses: WhereClause[]): string {
    return super.createWhereClausesExpression(inLevels(clauses));
  }

  protected override createUpdateExpression(): string {
    return withMilliseconds(super.createUpdateExpression());
  }
}

/** Replaces `CURRENT_TIMESTAMP`, which TypeORM sets whatever the driver declares: it has whole seconds on SQLite. */
function withMilliseconds(sql: string): string {
  return sql.replaceAll(' = CURRENT_TIMESTAMP', ` = ${NOW}`);
}
