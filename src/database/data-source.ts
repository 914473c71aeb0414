import { Logger as NestLogger } from '@nestjs/common';
import type { DataSource, DataSourceOptions, Logger } from 'typeorm';
import type { Config } from '../config/config.js';
import { type Class, loadClasses, loadMigrations } from './schema/module-files.js';

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

/**
 * Logs the reports of TypeORM. Statements are not among them: the caller gets the error of a failed one, and the
 * engines log slow ones (`logSlowStatement`).
 */
class DatabaseLogger implements Logger {
  private readonly logger = new NestLogger('Database');

  logQuery(): void {}

  logQueryError(): void {}

  logQuerySlow(): void {}

  logSchemaBuild(message: string): void {
    this.logger.debug(message);
  }

  logMigration(message: string): void {
    this.logger.log(message);
  }

  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    if (level === 'warn') this.logger.warn(message);
    else this.logger.debug(message);
  }
}
