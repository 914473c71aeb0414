import {
  InsertQueryBuilder,
  type ObjectLiteral,
  type QueryBuilder,
  SelectQueryBuilder,
  UpdateQueryBuilder,
} from 'typeorm';
import { SoftDeleteQueryBuilder } from 'typeorm/query-builder/SoftDeleteQueryBuilder.js';

/** The current time in TypeORM's format, in UTC with milliseconds; `CURRENT_TIMESTAMP` has whole seconds. */
export const NOW = `strftime('%Y-%m-%d %H:%M:%f', 'now')`;

/**
 * TypeORM's query builder with dates in milliseconds. It accepts pessimistic locks and ignores them, because a
 * transaction on SQLite locks the whole database (`BEGIN IMMEDIATE`). Outside a transaction a lock is an error, as on
 * PostgreSQL.
 */
export class SqliteQueryBuilder<Entity extends ObjectLiteral> extends SelectQueryBuilder<Entity> {
  protected override createLockExpression(): string {
    return '';
  }

  override insert(): InsertQueryBuilder<Entity> {
    return new SqliteInsertQueryBuilder(super.insert());
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- stands for the four overloads of TypeORM
  override update(...parameters: any[]): any {
    return new SqliteUpdateQueryBuilder(super.update(...(parameters as [])));
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
   * An upsert that finds the row updates its date. TypeORM would set the default of the column, which SQLite does not
   * support here.
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

class SqliteUpdateQueryBuilder<Entity extends ObjectLiteral> extends UpdateQueryBuilder<Entity> {
  protected override createUpdateExpression(): string {
    return withMilliseconds(super.createUpdateExpression(), this);
  }
}

class SqliteSoftDeleteQueryBuilder<Entity extends ObjectLiteral> extends SoftDeleteQueryBuilder<Entity> {
  protected override createUpdateExpression(): string {
    return withMilliseconds(super.createUpdateExpression(), this);
  }
}

/** TypeORM sets dates to `CURRENT_TIMESTAMP`, whatever default the driver declares. */
function withMilliseconds(sql: string, builder: QueryBuilder<ObjectLiteral>): string {
  const { mainAlias } = builder.expressionMap;
  if (!mainAlias?.hasMetadata) return sql;
  const { updateDateColumn, deleteDateColumn } = mainAlias.metadata;
  let precise = sql;
  for (const column of [updateDateColumn, deleteDateColumn]) {
    if (column === undefined) continue;
    const assignment = `${builder.escape(column.databaseName)} = `;
    precise = precise.replace(`${assignment}CURRENT_TIMESTAMP`, () => assignment + NOW);
  }
  return precise;
}
