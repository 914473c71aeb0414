import type { DataSource, DataSourceOptions } from 'typeorm';
import { GuardedDataSource } from '../transaction-control.js';
import { OutsideWrites } from './outside-writes.js';
import { PostgresDriver } from './postgres-driver.js';
import type { PostgresSettings } from './connections/connections.js';

/**
 * A data source on PostgreSQL. It takes TypeORM's ordinary options; the engine's own come from `settings`.
 * @param tellsOutsideWrites whether the log tells of writes that go past the transaction around them; see `OutsideWrites`
 */
export function createPostgresDataSource(
  settings: PostgresSettings,
  options: Partial<DataSourceOptions>,
  tellsOutsideWrites = false,
): DataSource {
  const dataSource = new GuardedDataSource({
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
