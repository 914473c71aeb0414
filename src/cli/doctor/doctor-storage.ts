import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import { CLI, MIGRATE } from '../../config/program-names.js';
import { pendingMigrations, unknownMigrations } from '../../database/schema/migrations.js';
import { committed } from '../../database/transactions.js';
import { ImportProgress } from '../../storage/import-progress.js';
import { recount, storedCount } from '../../storage/stored-count.js';
import { databaseExists } from '../database-file.js';
import { openDataSource, openStorage } from '../open-database.js';

const NONE_YET = 'there is no database yet';

async function withDatabase(config: Config, look: (dataSource: DataSource) => Promise<string>): Promise<string> {
  // Opening a SQLite database makes it; a doctor should not.
  if (!databaseExists(config)) return NONE_YET;
  const dataSource = await openDataSource(config);
  try {
    return await look(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

export function migrations(config: Config): Promise<string> {
  return withDatabase(config, async (dataSource) => {
    const newer = await unknownMigrations(dataSource);
    if (newer.length > 0) throw new Error(`${newer.join(', ')} are of a newer version: use that version`);
    const pending = await pendingMigrations(dataSource);
    if (pending.length === 0) return 'all have run';
    if (config.database.migrateOnStart) return `the next start runs ${pending.join(', ')}`;
    throw new Error(`${pending.join(', ')} have not run, and MIGRATE_ON_START is false: ${MIGRATE}`);
  });
}

export function counter(config: Config): Promise<string> {
  return withDatabase(config, async (dataSource) => {
    const found = await storedCount(dataSource, 'cookies');
    if (found === undefined) throw new Error('the table "storage" has no row for cookies: restore a backup');
    const { used, count } = found;
    if (used !== count) throw new Error(`it says ${used}, and there are ${count} cookies: run ${CLI} doctor --fix`);
    return `${used} cookies of ${config.cookiesCapacity}${used > config.cookiesCapacity ? ': POST is rejected' : ''}`;
  });
}

/**
 * Counts the cookies again, while the service may write, and sets the counter to what there are.
 * @returns what was changed; nothing when the counter was right
 */
export async function mendCounter(config: Config): Promise<string | undefined> {
  if (!databaseExists(config)) return undefined;
  const storage = await openStorage(config, { mayMigrate: false });
  const { dataSource } = storage;
  try {
    const before = await storedCount(dataSource, 'cookies');
    if (before === undefined || before.used === before.count) return undefined;
    return `counted again: there are ${await recount(dataSource, 'cookies')} cookies, the counter said ${before.used}`;
  } finally {
    await storage.close();
  }
}

export function unfinishedImport(config: Config): Promise<string> {
  return withDatabase(config, async (dataSource) => {
    if ((await pendingMigrations(dataSource)).length > 0) return 'not known before the migrations have run';
    const found = await new ImportProgress('cookies').find(committed(dataSource));
    if (found === undefined) return 'none is unfinished';
    return `one that began at ${found.started} has stored ${found.lines} lines: go on with cli import --resume`;
  });
}
