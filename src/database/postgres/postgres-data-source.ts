import {
  type DataSource,
  type DataSourceOptions,
  type EntityTarget,
  type ObjectLiteral,
  type QueryRunner,
  type SelectQueryBuilder,
  TypeORMError,
} from 'typeorm';
import { GuardedDataSource } from '../transaction-control.js';
import { OutsideWrites } from './outside-writes.js';
import { PostgresDriver } from './postgres-driver.js';
import type { PostgresSettings } from './connections/connection-pool.js';
import { PostgresQueryBuilder } from './postgres-query-builders.js';
import { changesSession, NEEDS_A_SESSION } from './session-state.js';

/**
 * A data source on PostgreSQL. It takes TypeORM's ordinary options; the engine's own come from `settings`.
 * @param tellsOutsideWrites whether the log tells of writes that go past the transaction around them; see `OutsideWrites`
 */
export function createPostgresDataSource(
  settings: PostgresSettings,
  options: Partial<DataSourceOptions>,
  tellsOutsideWrites = false,
): DataSource {
  const dataSource = new PostgresDataSource({
    ...options,
    type: 'postgres',
    // Neither host nor password: options are printed, by error reports for example.
    database: settings.database,
    installExtensions: false,
    // Its generator of UUIDs, gen_random_uuid(), needs no extension since PostgreSQL 13; that of the default does.
    uuidExtension: 'pgcrypto',
  } as DataSourceOptions);
  // TypeORM makes the driver in its constructor and offers no other place to give it one; nothing has used it yet.
  const driver = new PostgresDriver(dataSource, settings);
  dataSource.driver = driver;
  if (tellsOutsideWrites) driver.outsideWrites = new OutsideWrites(dataSource);
  return dataSource;
}

class PostgresDataSource extends GuardedDataSource {
  /** @throws {TypeORMError} for what would change the session of a connection that others use next; see `session-state.ts` */
  override async query<T>(sql: string, parameters?: unknown[] | ObjectLiteral, queryRunner?: QueryRunner): Promise<T> {
    if (queryRunner === undefined && changesSession(sql)) throw new TypeORMError(NEEDS_A_SESSION);
    return super.query<T>(sql, parameters, queryRunner);
  }

  override createQueryBuilder<Entity extends ObjectLiteral>(
    entityOrRunner?: EntityTarget<Entity> | QueryRunner,
    alias?: string,
    queryRunner?: QueryRunner,
  ): SelectQueryBuilder<Entity> {
    if (alias === undefined) return new PostgresQueryBuilder<Entity>(this, entityOrRunner as QueryRunner | undefined);
    const { target } = this.getMetadata(entityOrRunner as EntityTarget<Entity>);
    const builder = new PostgresQueryBuilder<Entity>(this, queryRunner);
    return builder.select(alias).from(target as EntityTarget<Entity>, alias);
  }
}
