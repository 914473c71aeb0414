import {
  type DataSourceOptions,
  InsertQueryBuilder,
  type ObjectLiteral,
  type QueryRunner,
  TypeORMError,
} from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { isAutoIncrement } from '../columns.js';
import { CountingQueryBuilder } from '../counting-query-builder.js';
import { GuardedDataSource } from '../transaction-control.js';
import type { PostgresSettings } from './connections/connection-pool.js';
import { changesSession, NEEDS_A_SESSION } from './connections/postgres-client.js';
import { advanceIdSequence, PostgresDriver } from './postgres-driver.js';

export class PostgresDataSource extends GuardedDataSource {
  protected override readonly QueryBuilder = PostgresQueryBuilder;

  constructor(settings: PostgresSettings, options: Partial<DataSourceOptions>) {
    // Host and password are left out, because error reports print the options.
    const { database } = settings;
    // gen_random_uuid() needs no extension since PostgreSQL 13; TypeORM's default generator does.
    const uuids = { installExtensions: false, uuidExtension: 'pgcrypto' } as const;
    super({ ...options, type: 'postgres', database, ...uuids } as DataSourceOptions);
    // TypeORM creates its own driver and has no option for another. Nothing has used that driver yet.
    this.driver = new PostgresDriver(this, settings);
  }

  /** @throws {TypeORMError} for a statement that changes the session of a shared connection; see `changesSession` */
  override async query<T>(sql: string, parameters?: unknown[] | ObjectLiteral, queryRunner?: QueryRunner): Promise<T> {
    if (queryRunner === undefined && changesSession(sql)) throw new TypeORMError(NEEDS_A_SESSION);
    return super.query<T>(sql, parameters, queryRunner);
  }
}

class PostgresQueryBuilder<Entity extends ObjectLiteral> extends CountingQueryBuilder<Entity> {
  override insert(): InsertQueryBuilder<Entity> {
    return new PostgresInsertQueryBuilder(super.insert());
  }
}

/** Keeps an id that the caller gives, as on SQLite. TypeORM leaves generated columns out of every INSERT. */
class PostgresInsertQueryBuilder<Entity extends ObjectLiteral> extends InsertQueryBuilder<Entity> {
  protected override getInsertedColumns(): ColumnMetadata[] {
    const columns = super.getInsertedColumns();
    const given = this.givenIds().map(({ column }) => column);
    return [...given.filter((column) => !columns.includes(column)), ...columns];
  }

  /** Advances the sequences first, because a skipped id does no harm and a repeated one does. */
  override async execute(): ReturnType<InsertQueryBuilder<Entity>['execute']> {
    const session = this.queryRunner ?? this.dataSource;
    for (const { column, last } of this.givenIds()) {
      await advanceIdSequence(session, this.getTableName(column.entityMetadata.tablePath), last, column.databaseName);
    }
    return super.execute();
  }

  /** The generated columns for which the caller gives values, each with its largest value. */
  private givenIds(): { column: ColumnMetadata; last: number }[] {
    const { mainAlias, valuesSet } = this.expressionMap;
    if (!mainAlias?.hasMetadata || valuesSet === undefined) return [];
    const rows = (Array.isArray(valuesSet) ? valuesSet : [valuesSet]) as ObjectLiteral[];
    return mainAlias.metadata.generatedColumns
      .filter(isAutoIncrement)
      .map((column) => {
        const ids = rows.map((row): unknown => column.getEntityValue(row)).filter((id) => id != null);
        return { column, last: Math.max(...ids.map(Number)) };
      })
      .filter(({ last }) => last !== -Infinity);
  }
}
