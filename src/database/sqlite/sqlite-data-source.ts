import type { DataSource, DataSourceOptions } from 'typeorm';
import type { SqliteUrl } from '../../config/variables.js';
import { GuardedDataSource } from '../transaction-control.js';
import { betterSqlite3 } from './better-sqlite3.js';
import { SqliteDriver } from './sqlite-driver.js';
import type { WriterLimits } from './writer.js';

/** A data source on the embedded engine. It takes TypeORM's ordinary options; the engine's own come from `database`. */
export function createSqliteDataSource(
  database: SqliteUrl & WriterLimits,
  options: Partial<DataSourceOptions>,
): DataSource {
  const dataSource = new GuardedDataSource({
    ...options,
    type: 'better-sqlite3',
    driver: betterSqlite3(),
    database: database.path,
  } as DataSourceOptions);
  // TypeORM makes the driver in its constructor and offers no other place to give it one; nothing has used it yet.
  dataSource.driver = new SqliteDriver(dataSource, database);
  return dataSource;
}
