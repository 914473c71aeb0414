import {
  type DataSourceOptions,
  DeleteQueryBuilder,
  InsertQueryBuilder,
  type ObjectLiteral,
  TypeORMError,
} from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { WhereClause } from 'typeorm/query-builder/WhereClause.js';
import { isAutoIncrement } from '../columns.js';
import { CountingQueryBuilder } from '../counting-query-builder.js';
import { GuardedDataSource } from '../transaction-control.js';
import { betterSqlite3 } from './better-sqlite3.js';
import { SqliteDriver } from './sqlite-driver.js';
import type { WriterLimits } from './writing/writer.js';

export class SqliteDataSource extends GuardedDataSource {
  protected override readonly QueryBuilder = SqliteQueryBuilder;

  constructor(path: string, limits: WriterLimits, options: Partial<DataSourceOptions>) {
    super({ ...options, type: 'better-sqlite3', driver: betterSqlite3(), database: path } as DataSourceOptions);
    // TypeORM creates its own driver and has no option for another. Nothing has used that driver yet.
    this.driver = new SqliteDriver(this, limits);
  }
}

/** Alternatives in one level of an expression, whose depth is at most 1000 (https://sqlite.org/limits.html). */
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
 * Accepts pessimistic locks and ignores them, because a transaction on SQLite locks the whole database
 * (`BEGIN IMMEDIATE`). Outside a transaction a lock is an error, as on PostgreSQL.
 */
class SqliteQueryBuilder<Entity extends ObjectLiteral> extends CountingQueryBuilder<Entity> {
  private condition: unknown;

  protected override createLockExpression(): string {
    return '';
  }

  protected override createWhereClausesExpression(clauses: WhereClause[]): string {
    return super.createWhereClausesExpression(inLevels(clauses));
  }

  /** TypeORM would leave the columns out, and return every row. */
  override distinctOn(): never {
    throw new TypeORMError('SQLite has no DISTINCT ON: use GROUP BY, or ROW_NUMBER() in a subquery');
  }

  /** SQLite takes a negative limit for none, and would return every row. */
  protected override createLimitOffsetExpression(): string {
    const { limit, offset, take, skip } = this.expressionMap;
    const wrong = [limit, offset, take, skip].find((number) => Number(number) < 0);
    if (wrong !== undefined) throw new TypeORMError(`A limit or offset must not be negative: ${wrong}`);
    return super.createLimitOffsetExpression();
  }

  override where(...args: Parameters<CountingQueryBuilder<Entity>['where']>): this {
    [this.condition] = args;
    return super.where(...args);
  }

  /** After an INSERT, TypeORM reads the rows by their keys, and gives them to the inserted entities by position. */
  override async getMany(): Promise<Entity[]> {
    const rows = await super.getMany();
    const { mainAlias, options } = this.expressionMap;
    // No other query of several rows has this option.
    if (!options.includes('create-pojo') || !Array.isArray(this.condition)) return rows;
    const { primaryColumns } = mainAlias!.metadata;
    const keyOf = (row: ObjectLiteral): string => JSON.stringify(primaryColumns.map((column) => textOf(column, row)));
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    const sorted = this.condition.map((key) => byKey.get(keyOf(key as ObjectLiteral)));
    return sorted.every((row) => row !== undefined) ? sorted : rows;
  }

  override insert(): InsertQueryBuilder<Entity> {
    return new SqliteInsertQueryBuilder(super.insert());
  }

  override delete(): DeleteQueryBuilder<Entity> {
    return new SqliteDeleteQueryBuilder(super.delete());
  }
}

function textOf(column: ColumnMetadata, row: ObjectLiteral): string {
  const value: unknown = column.getEntityValue(row);
  return value instanceof Date ? value.toISOString() : String(value);
}

class SqliteInsertQueryBuilder<Entity extends ObjectLiteral> extends InsertQueryBuilder<Entity> {
  /** TypeORM would leave the condition out and overwrite every row, and it would not set the date of the update. */
  override orUpdate(...[columns, conflict, options]: Parameters<InsertQueryBuilder<Entity>['orUpdate']>): this {
    if (options?.overwriteCondition !== undefined) throw new TypeORMError(CONDITIONAL);
    const { mainAlias } = this.expressionMap;
    const date = mainAlias?.hasMetadata ? mainAlias.metadata.updateDateColumn?.databaseName : undefined;
    // The value of the INSERT: the current time, unless the caller gives another one.
    const hasDate = date === undefined || columns.length === 0 || columns.includes(date);
    return super.orUpdate(hasDate ? columns : [...columns, date], conflict, options);
  }

  /** TypeORM's `save()` converts the values that it gets from here again, so it needs them as they are stored. */
  override async execute(): ReturnType<InsertQueryBuilder<Entity>['execute']> {
    const result = await super.execute();
    const { mainAlias } = this.expressionMap;
    if (!mainAlias?.hasMetadata) return result;
    const columns = mainAlias.metadata.columns.filter(({ isGenerated, transformer, type }) => {
      return !isGenerated && (transformer !== undefined || JSON_COLUMN.test(String(type)));
    });
    for (const map of result.generatedMaps) {
      for (const column of columns) {
        const value: unknown = column.getEntityValue(map);
        if (value != null) column.setEntityValue(map, this.dataSource.driver.preparePersistentValue(value, column));
      }
    }
    return result;
  }

  protected override createInsertExpression(): string {
    return this.withKeys(super.createInsertExpression());
  }

  /** Returns the generated keys. TypeORM would count them back from the last one, also where the caller gives some. */
  private withKeys(sql: string): string {
    const { mainAlias, updateEntity, insertFromSelect } = this.expressionMap;
    // Skipped rows return nothing, and TypeORM gives the returned rows to the objects by position.
    if (!mainAlias?.hasMetadata || !updateEntity || insertFromSelect !== undefined || SKIPS.test(sql)) return sql;
    const key = mainAlias.metadata.generatedColumns.find(isAutoIncrement);
    return key === undefined ? sql : `${sql} RETURNING ${this.escape(key.databaseName)}`;
  }
}

const JSON_COLUMN = /^(?:simple-)?jsonb?$/;

/** The end of an INSERT that may skip rows. */
const SKIPS = / DO NOTHING\s*$/;

const CONDITIONAL =
  'TypeORM has no overwriteCondition for SQLite: read the row and save it in one transaction, or write the INSERT in SQL';

class SqliteDeleteQueryBuilder<Entity extends ObjectLiteral> extends DeleteQueryBuilder<Entity> {
  protected override createWhereClausesExpression(clauses: WhereClause[]): string {
    return super.createWhereClausesExpression(inLevels(clauses));
  }
}
