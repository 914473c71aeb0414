import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { MIGRATE } from '../config/program-names.js';
import { createDataSource } from '../database/data-source.js';
import { migrate, pendingMigrations, unknownMigrations } from '../database/migrations.js';
import { Cookie } from '../cookies/cookie.entity.js';
import { CookiesRepository } from '../cookies/cookies.repository.js';
import { ResourceStorage } from '../storage/resource-storage.js';
import { Failure, UsageError } from './errors.js';

/** Milliseconds: nobody waits for an answer here, and an atomic import is one long transaction. */
const PATIENCE = { busyTimeout: 60_000, transactionTimeout: 24 * 3600 * 1000 } as const;

/** The storage as the service has it, without the service. */
export interface OpenStorage {
  readonly dataSource: DataSource;
  readonly cookies: CookiesRepository;
  readonly storage: ResourceStorage;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Whether a database may be made, and pending migrations run, as the service's start would. */
  readonly mayMigrate: boolean;
}

/**
 * Opens the database of the configuration, which a service may have open, too.
 * @throws {DatabaseStartError} when it cannot be used
 * @throws {Failure} when its schema is not that of this code
 */
export async function openStorage(config: Config, { mayMigrate }: OpenOptions): Promise<OpenStorage> {
  const { database } = config;
  if (!mayMigrate && database.engine === 'sqlite' && !existsSync(database.path)) {
    throw new Failure(`There is no database at ${database.path}; see DATABASE_URL.`);
  }
  const dataSource = await createDataSource(new Config({ ...config, database: { ...database, ...PATIENCE } })).then(
    (created) => created.initialize(),
  );
  try {
    await requireSchema(dataSource, mayMigrate && config.database.migrateOnStart);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
  const storage = new ResourceStorage('cookies', config.cookiesCapacity);
  const cookies = new CookiesRepository(dataSource.getRepository(Cookie), storage);
  return { dataSource, cookies, storage, close: () => dataSource.destroy() };
}

/** Opening a SQLite database makes the file, so whoever must not asks before. */
export function databaseExists({ database }: Config): boolean {
  return database.engine !== 'sqlite' || existsSync(database.path);
}

/**
 * Keeps output from taking the place of the database, or of a file that belongs to it.
 * @throws {UsageError}
 */
export async function rejectDatabaseFile({ database }: Config, output: string): Promise<void> {
  if (database.engine !== 'sqlite') return;
  for (const suffix of ['', '-wal', '-shm', '-reserve', '-journal']) {
    if (!(await isSameFile(output, database.path + suffix))) continue;
    throw new UsageError(suffix === '' ? `${output} is the database itself` : `${output} belongs to the database`);
  }
}

/** Whether two paths lead to one file that exists. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

/** @throws {Failure} naming what this engine offers instead of a command that works on the file of a SQLite database */
export function requireSqlite({ database }: Config, command: string, instead: string): string {
  if (database.engine === 'sqlite') return database.path;
  throw new Failure(`${command} is for SQLite, and DATABASE_URL names a PostgreSQL server; use ${instead}.`);
}

async function requireSchema(dataSource: DataSource, mayMigrate: boolean): Promise<void> {
  const newer = await unknownMigrations(dataSource);
  if (newer.length > 0) {
    throw new Failure(`The database has the migrations ${newer.join(', ')} of a newer version. Use that version.`);
  }
  if (mayMigrate) await migrate(dataSource);
  const pending = await pendingMigrations(dataSource);
  if (pending.length > 0) {
    throw new Failure(`The database lacks the migrations ${pending.join(', ')}. Start the service, or run: ${MIGRATE}`);
  }
}
