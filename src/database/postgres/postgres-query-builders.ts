import { InsertQueryBuilder, type ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/** TypeORM's query builder. Its inserts keep an id that the caller gives, as on SQLite. */
export class PostgresQueryBuilder<Entity extends ObjectLiteral> extends SelectQueryBuilder<Entity> {
  override insert(): InsertQueryBuilder<Entity> {
    return new PostgresInsertQueryBuilder(super.insert());
  }
}

/** On PostgreSQL, TypeORM leaves a generated number out of every INSERT, also where the caller gives one. */
class PostgresInsertQueryBuilder<Entity extends ObjectLiteral> extends InsertQueryBuilder<Entity> {
  protected override getInsertedColumns(): ColumnMetadata[] {
    const columns = super.getInsertedColumns();
    const given = this.givenIds().map(({ column }) => column);
    return [...given.filter((column) => !columns.includes(column)), ...columns];
  }

  /** Advances the sequences first: an id that is skipped does no harm, one that is given twice does. */
  override async execute(): ReturnType<InsertQueryBuilder<Entity>['execute']> {
    for (const { column, last } of this.givenIds()) {
      await (this.queryRunner ?? this.dataSource).query(
        `SELECT setval(name::regclass, $1::bigint) FROM pg_get_serial_sequence($2, $3) AS name
         WHERE name IS NOT NULL AND coalesce(pg_sequence_last_value(name::regclass), 0) < $1::bigint`,
        [last, this.escape(column.entityMetadata.tableName), column.databaseName],
      );
    }
    return super.execute();
  }

  /** The generated numbers that the caller gives, each with the largest. */
  private givenIds(): { column: ColumnMetadata; last: number }[] {
    const { mainAlias, valuesSet } = this.expressionMap;
    if (!mainAlias?.hasMetadata || valuesSet === undefined) return [];
    const rows = (Array.isArray(valuesSet) ? valuesSet : [valuesSet]) as ObjectLiteral[];
    return mainAlias.metadata.generatedColumns
      .filter(({ generationStrategy }) => generationStrategy === 'increment')
      .map((column) => ({ column, ids: rows.map((row) => Number(column.getEntityValue(row) ?? NaN)) }))
      .map(({ column, ids }) => ({ column, ids: ids.filter(Number.isSafeInteger) }))
      .filter(({ ids }) => ids.length > 0)
      .map(({ column, ids }) => ({ column, last: Math.max(...ids) }));
  }
}
