import { rm } from 'node:fs/promises';
import { Config } from '../../config/config.js';
import { migrate } from '../../database/schema/migrations.js';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { RESOURCES } from '../../features.js';
import { auditTriggerNames } from '../../resource/audit/audit-triggers.js';
import { sqliteTriggerNames } from '../../resource/usage/triggers.js';
import { openDataSource } from '../resources/open-storage.js';
import { schemaDifferences } from '../sqlite-file/schema-differences.js';

/** Suffixes of all files beside a database, those of the service included. */
export const BESIDE = ['-journal', '-reserve', '-wal', '-shm'] as const;

/** Tables that Litestream keeps in a database which it replicates. */
const LITESTREAM = ['_litestream_lock', '_litestream_seq'];

const triggers = (): string[] =>
  RESOURCES.flatMap(({ name: { plural } }) => [...sqliteTriggerNames(plural), ...auditTriggerNames(plural)]);

/**
 * Compares the schema of a copy with that of a new database after the same migrations: an additional trigger would run.
 * It leaves out what `dropRecreatedParts` drops.
 * @returns one line for each difference
 */
export async function differencesFromFresh(
  copy: string,
  migrations: readonly string[],
  config: Config,
): Promise<string[]> {
  const path = `${copy}-fresh`;
  try {
    await using dataSource = await openDataSource(atPath(config, path));
    const had = dataSource.migrations.filter((each) => migrations.includes(each.name ?? each.constructor.name));
    Object.assign(dataSource, { migrations: had });
    await migrate(dataSource);
    const recreated = [...LITESTREAM.map((name) => `table ${name}`), ...triggers().map((name) => `trigger ${name}`)];
    return schemaDifferences(copy, path, recreated);
  } finally {
    for (const suffix of ['', ...BESIDE]) await rm(path + suffix, { force: true });
  }
}

/**
 * Drops triggers with the names of the service's, which may be hostile, and the tables of Litestream. The next start of
 * each makes the right ones.
 */
export function dropRecreatedParts(path: string): void {
  using database = openDatabase(path);
  for (const name of LITESTREAM) database.exec(`DROP TABLE IF EXISTS ${name}`);
  for (const name of triggers()) database.exec(`DROP TRIGGER IF EXISTS "${name}"`);
}

/** The configuration with another file as the database. */
export const atPath = (config: Config, path: string): Config =>
  new Config({ ...config, database: { ...config.database, url: { engine: 'sqlite', path } } });
