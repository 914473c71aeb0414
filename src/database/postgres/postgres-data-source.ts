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
 * Makes a data source on PostgreSQL from TypeORM's options and the settings of the engine.
 * @param tellsOutsideWrites whether to log writes that bypass the transaction around them; see `OutsideWrites`
 */
export function createPostgresDataSource(
  settings: PostgresSettings,
  options: Partial<DataSourceOptions>,
  tellsOutsideWrites = false,
): DataSource {
  const dataSource = new PostgresDataSource({
    ...options,
    type: 'postgres',
    // Host and password are left out, because error reports print the options.
    database: settings.database,
    installExtensions: false,
    // gen_random_uuid() needs no extension since PostgreSQL 13; TypeORM's default generator does.
    uuidExtension: 'pgcrypto',
  } as DataSourceOptions);
  // TypeORM creates the driver in the constructor and has no option for another one. Nothing has used it yet.
  const driver = new PostgresDriver(dataSource, settings);
  dataSource.driver = driver;
  if (tellsOutsideWrites) driver.outsideWrites = new OutsideWrites(dataSource);
  return dataSource;
}

class PostgresDataSource extends GuardedDataSource {
  /** @throws {TypeORMError} for a statement that changes the session of a shared connection; see `session-state.ts` */
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
