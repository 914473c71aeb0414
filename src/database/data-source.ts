import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Logger as NestLogger } from '@nestjs/common';
import { type DataSource, type DataSourceOptions, EntitySchema, type Logger } from 'typeorm';
import type { Config } from '../config/config.js';

/** The root of the running code: the project in tests, otherwise `dist`. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const MIGRATION = /^[0-9]+-.*(?<!\.d)\.[jt]s$/;

export type Class = new (...args: never[]) => object;

/**
 * Makes the configured data source, not yet initialized, with every `*.entity` of `src/` and every migration.
 * @param entities additional entities, from modules outside `src/`
 */
export async function createDataSource(config: Config, entities: readonly Class[] = []): Promise<DataSource> {
  const found = await loadClasses('src', /\.entity\.[jt]s$/);
  const options: Partial<DataSourceOptions> = {
    entities: [...new Set([...found, ...entities])],
    migrations: await loadClasses('migrations', MIGRATION),
    migrationsTransactionMode: 'all',
    logger: DATABASE_LOGGER,
  };
  const { database, listTimeout } = config;
  if (database.url.engine === 'postgres') {
    const { PostgresDataSource } = await import('./postgres/postgres-data-source.js');
    return new PostgresDataSource({ ...database, ...database.url, listTimeout }, options);
  }
  const { SqliteDataSource } = await import('./sqlite/sqlite-data-source.js');
  return new SqliteDataSource(database.url.path, database, options);
}

/** Loads all exported classes and entity schemas of a folder. TypeORM's own globs load with `require`; jest cannot. */
async function loadClasses(folder: string, name: RegExp): Promise<Class[]> {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const values: unknown[] = [];
  // The files are loaded one by one: jest fails to load two ES modules at the same time that share an import.
  for (const file of files.filter((path) => name.test(path)).sort()) {
    const module = (await import(pathToFileURL(join(ROOT, folder, file)).href)) as Record<string, unknown>;
    values.push(...Object.values(module));
  }
  return values.filter((value) => typeof value === 'function' || value instanceof EntitySchema) as Class[];
}

export async function knownMigrations(): Promise<string[]> {
  return (await loadClasses('migrations', MIGRATION)).map((migration) => migration.name);
}

const logger = new NestLogger('Database');
const ignore = (): void => undefined;

/** Logs the reports of TypeORM, except for statements: `publishStatement` logs slow ones. */
const DATABASE_LOGGER: Logger = {
  logQuery: ignore,
  logQueryError: ignore,
  logQuerySlow: ignore,
  logSchemaBuild: (message) => logger.debug(message),
  logMigration: (message) => logger.log(message),
  log: (level, message) => (level === 'warn' ? logger.warn(message) : logger.debug(message)),
};
