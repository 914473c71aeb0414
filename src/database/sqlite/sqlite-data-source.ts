import type {
  DataSource,
  DataSourceOptions,
  EntityTarget,
  ObjectLiteral,
  QueryRunner,
  SelectQueryBuilder,
} from 'typeorm';
import { GuardedDataSource } from '../transaction-control.js';
import { betterSqlite3 } from './better-sqlite3.js';
import { SqliteQueryBuilder } from './portability/sqlite-query-builders.js';
import { SqliteDriver } from './sqlite-driver.js';
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
  // TypeORM creates the driver in the constructor and has no option for another one. Nothing has used it yet.
  dataSource.driver = new SqliteDriver(dataSource, database);
  return dataSource;
}

class SqliteDataSource extends GuardedDataSource {
  override createQueryBuilder<Entity extends ObjectLiteral>(
    entityOrRunner?: EntityTarget<Entity> | QueryRunner,
    alias?: string,
    queryRunner?: QueryRunner,
  ): SelectQueryBuilder<Entity> {
    if (alias === undefined) return new SqliteQueryBuilder<Entity>(this, entityOrRunner as QueryRunner | undefined);
    const { target } = this.getMetadata(entityOrRunner as EntityTarget<Entity>);
    const builder = new SqliteQueryBuilder<Entity>(this, queryRunner);
    return builder.select(alias).from(target as EntityTarget<Entity>, alias);
  }
}
