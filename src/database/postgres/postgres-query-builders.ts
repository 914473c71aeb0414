import { InsertQueryBuilder, type ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/** TypeORM's query builder with inserts that keep an id of the caller, as on SQLite. */
export class PostgresQueryBuilder<Entity extends ObjectLiteral> extends SelectQueryBuilder<Entity> {
  override insert(): InsertQueryBuilder<Entity> {
    return new PostgresInsertQueryBuilder(super.insert());
  }
}

/** On PostgreSQL, TypeORM leaves a generated column out of every INSERT, even if the caller gives a value. */
class PostgresInsertQueryBuilder<Entity extends ObjectLiteral> extends InsertQueryBuilder<Entity> {
  protected override getInsertedColumns(): ColumnMetadata[] {
    const columns = super.getInsertedColumns();
    const given = this.givenIds().map(({ column }) => column);
    return [...given.filter((column) => !columns.includes(column)), ...columns];
  }

  /** Advances the sequences first, because a skipped id does no harm and a repeated one does. */
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

  /** The generated columns for which the caller gives values, each with its largest value. */
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
