import { rm } from 'node:fs/promises';
import { Config } from '../../config/config.js';
import { RESOURCES } from '../../features.js';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { migrate } from '../../database/schema/migrations.js';
import { auditTriggerNames } from '../../resource/audit/audit-triggers.js';
import { sqliteTriggerNames } from '../../resource/usage/triggers.js';
import { Failure } from '../command-errors.js';
import { openDataSource } from '../resources/open-storage.js';
import { expectedContents } from '../resources/resources.js';
import { checkFile, schemaDifferences } from '../sqlite-file/file-check.js';
import { readingOnly } from '../sqlite-file/file-copy.js';
import { copy } from './backup.js';

/** Suffixes of all files beside a database, those of the service included. */
export const BESIDE = ['-journal', '-reserve', '-wal', '-shm'] as const;

/**
 * Copies a backup from `source` to `draft`, and checks pages, counters, ids and schema of both. Messages name `file`.
 * @returns the records of each resource, and the migrations that the next start will run
 * @throws {Failure} with the reason why the backup cannot be restored
 */
export async function checkedCopy(
  { file, source, draft }: { file: string; source: string; draft: string },
  config: Config,
  interrupt: AbortSignal,
) {
  const largestIds = RESOURCES.map(
    ({ name, capacity }) => [name.plural, Number.MAX_SAFE_INTEGER - config.get(capacity)] as const,
  );
  const expected = { ...(await expectedContents()), largestIds: new Map(largestIds) };
  await readingOnly(source, async () => {
    const { errors, drifts } = checkFile(source, expected);
    const wrong = [...errors, ...drifts];
    if (wrong.length > 0) throw new Failure(`${file} cannot be restored: ${wrong.join('; ')}.`);
    await copy(source, draft, { readonly: true, interrupt });
  });
  // The copy is checked, not the backup: its disk may be damaged.
  const { errors, counts, migrations } = checkFile(draft, expected);
  if (errors.length > 0) throw new Failure(`The copy of ${file} is not sound: ${errors.join('; ')}.`);
  const differences = await differencesFromFresh(draft, migrations, config);
  if (differences.length > 0) throw new Failure(`${file} cannot be restored: ${differences.join('; ')}.`);
  return { counts, pending: expected.migrations.filter((name) => !migrations.includes(name)) };
}

/** Compares the schema with that of a new database after the same migrations: an additional trigger would run. */
async function differencesFromFresh(draft: string, migrations: readonly string[], config: Config): Promise<string[]> {
  const path = `${draft}-fresh`;
  {
    await using dataSource = await openDataSource(atPath(config, path));
    const had = dataSource.migrations.filter((each) => migrations.includes(each.name ?? each.constructor.name));
    Object.assign(dataSource, { migrations: had });
    await migrate(dataSource);
  }
  try {
    for (const file of [draft, path]) dropRecreatedParts(file);
    return schemaDifferences(draft, path);
  } finally {
    for (const suffix of ['', ...BESIDE]) await rm(path + suffix, { force: true });
  }
}

/** Tables that Litestream keeps in a database which it replicates. */
const LITESTREAM = ['_litestream_lock', '_litestream_seq'];

/**
 * Drops triggers with the names of the service's, which may be hostile, and the tables of Litestream. The next start of each makes
 * the right ones.
 */
function dropRecreatedParts(path: string): void {
  using database = openDatabase(path);
  for (const name of LITESTREAM) database.exec(`DROP TABLE IF EXISTS ${name}`);
  for (const name of RESOURCES.flatMap(({ name: { plural } }) => [
    ...sqliteTriggerNames(plural),
    ...auditTriggerNames(plural),
  ])) {
    database.exec(`DROP TRIGGER IF EXISTS "${name}"`);
  }
}

/** The configuration with another file as the database. */
export const atPath = (config: Config, path: string): Config =>
  new Config({ ...config, database: { ...config.database, url: { engine: 'sqlite', path } } });

/** Removes a copy, and what was made beside it. */
export async function discardCopy(draft: string): Promise<void> {
  for (const suffix of ['', '-from', '-fresh', ...BESIDE]) await rm(draft + suffix, { force: true });
  for (const suffix of BESIDE) await rm(`${draft}-fresh${suffix}`, { force: true });
}
