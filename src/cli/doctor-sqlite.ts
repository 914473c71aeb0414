import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openDatabase } from '../database/sqlite/better-sqlite3.js';
import { knownMigrations } from '../database/schema-version.js';
import { checkFile } from '../database/sqlite/file-check.js';
import { tryWriting } from '../database/sqlite/write-trial.js';
import { firstLine, nativeModule } from './doctor-machine.js';

/** Bytes that a volume should have free: the WAL, its reserve, and some thousand cookies. */
const LEAST_FREE = 64 * 1024 * 1024;

/** The folder of the database; as long as there is none, the one that it would be made in. */
function folderOf(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}

function inTrialFolder<T>(path: string, trial: (folder: string) => T): T {
  const folder = mkdtempSync(join(folderOf(path), '.doctor-'));
  try {
    return trial(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is looked at where the database is the file at `path`, or will be. */
export function sqliteChecks(path: string): Readonly<Record<string, () => string | Promise<string>>> {
  return {
    'native module': nativeModule,
    'volume writable': () => folderWritable(path),
    'free space': () => freeSpace(path),
    'WAL mode': () => walMode(path),
    'real write': () => realWrite(path),
    'database file': () => databaseFile(path),
  };
}

function folderWritable(path: string): string {
  try {
    inTrialFolder(path, (folder) => writeFileSync(join(folder, 'file'), 'trial', { flush: true }));
    return folderOf(path);
  } catch (error) {
    throw new Error(
      `${folderOf(path)} cannot be written (${firstLine(error)}): give the user of the service the right to`,
      { cause: error },
    );
  }
}

function freeSpace(path: string): string {
  const { bavail, bsize } = statfsSync(folderOf(path));
  const free = `${Math.floor((bavail * bsize) / 1024 / 1024)} MiB`;
  if (bavail * bsize < LEAST_FREE) {
    throw new Error(`${free} are free on the volume of ${folderOf(path)}: make room for at least 64 MiB`);
  }
  return free;
}

function walMode(path: string): string {
  return inTrialFolder(path, (folder) => {
    const database = openDatabase(join(folder, 'trial.sqlite'));
    try {
      const mode = String(database.pragma('journal_mode = WAL', { simple: true }));
      database.exec('CREATE TABLE trial (id); INSERT INTO trial VALUES (1)');
      if (mode === 'wal') return 'possible on this file system';
      throw new Error(`it stays in mode "${mode}": use a local file system, not one over a network`);
    } finally {
      database.close();
    }
  });
}

function realWrite(path: string): string {
  if (!existsSync(path)) return 'there is no database yet';
  const database = openDatabase(path, { timeout: 5000 });
  try {
    tryWriting(database);
    return `${path} takes writes`;
  } catch (error) {
    throw new Error(
      `${path} takes no writes (${firstLine(error)}): give the user of the service the right to write it`,
      {
        cause: error,
      },
    );
  } finally {
    database.close();
  }
}

async function databaseFile(path: string): Promise<string> {
  if (!existsSync(path)) return `${path} does not exist yet; the first start makes it`;
  const { faults } = checkFile(path, await knownMigrations(), { thoroughly: false });
  if (faults.length === 0) return `${path} is sound (quick_check)`;
  throw new Error(`${path}: ${faults.join('; ')}: restore a backup (cli restore), or use the version it belongs to`);
}
