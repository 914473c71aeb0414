import type { DataSource, DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config.js';
import { DatabaseLogger } from './database-logger.js';
import { type Class, loadClasses, loadMigrations } from './schema/module-files.js';

/** Statements that take longer than this many milliseconds are logged. */
const SLOW_STATEMENT = 200;

/**
 * Makes the configured data source, not yet initialized, with every `*.entity` of `src/` and every migration of
 * `migrations/`.
 * @param entities additional entities, from modules outside `src/`
 */
export async function createDataSource(config: Config, entities: readonly Class[] = []): Promise<DataSource> {
  const found = await loadClasses('src', /\.entity\.[jt]s$/);
  const options: Partial<DataSourceOptions> = {
    entities: [...new Set([...found, ...entities])],
    migrations: await loadMigrations(),
    migrationsTransactionMode: 'all',
    maxQueryExecutionTime: SLOW_STATEMENT,
    logger: new DatabaseLogger(),
  };
  const { database, environment, listTimeout } = config;
  if (database.url.engine === 'postgres') {
    const { createPostgresDataSource } = await import('./postgres/postgres-data-source.js');
    return createPostgresDataSource(
      { ...database, ...database.url, listTimeout },
      options,
      environment !== 'production',
    );
  }
  const { createSqliteDataSource } = await import('./sqlite/sqlite-data-source.js');
  return createSqliteDataSource({ ...database, path: database.url.path }, options);
}
