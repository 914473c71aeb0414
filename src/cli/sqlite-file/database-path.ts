import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../../config/config.js';
import { PLATFORM_SETTINGS } from '../../config/platform-settings.js';
import { Failure } from '../command-errors.js';

/** Suffixes of all files beside a database, including those of the service. */
export const DATABASE_FILE_SUFFIXES = ['-journal', '-reserve', '-wal', '-shm'] as const;

/** Tells whether there is a database. Opening a SQLite database would create it. */
export function databaseExists({ database: { url } }: Config): boolean {
  if (url.engine !== 'sqlite') return true;
  try {
    return statSync(url.path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // This user may not enter its folder. Opening the database reports that.
    return true;
  }
}

/** @throws {Failure} if there is no database file */
export function requireDatabase(config: Config): void {
  const { url } = config.database;
  if (url.engine !== 'sqlite' || databaseExists(config)) return;
  throw new Failure(`There is no database at ${url.path}; see DATABASE_URL.`);
}

export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

/** The path of the SQLite database, or a `Failure` that names the program of PostgreSQL to use instead. */
export function requireSqlite({ database: { url } }: Config, command: 'backup' | 'restore'): string {
  if (url.engine === 'sqlite') return url.path;
  const instead = command === 'backup' ? 'pg_dump' : 'pg_restore';
  throw new Failure(`${command} is for SQLite, and DATABASE_URL names a PostgreSQL server; use ${instead}.`);
}

export const atPath = (config: Config, path: string): Config =>
  config.with(PLATFORM_SETTINGS.database.url, { engine: 'sqlite', path });
