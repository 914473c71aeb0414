import { existsSync, lstatSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/config.js';
import { CLI } from '../../config/program-names.js';
import { DatabaseStartError } from '../../database/errors.js';
import { openDatabase, tryWriting } from '../../database/sqlite/better-sqlite3.js';
import { fileProblem, lostFileProblem, ownersOf, volumeProblem } from '../../database/sqlite/file/file-problem.js';
import { newestBackups } from '../../management/backup-files.js';
import { differencesFromFresh } from '../backup/schema-check.js';
import { draftFolder } from '../sqlite-file/draft-folder.js';
import { checkFile } from '../sqlite-file/file-check.js';

/** Checks by name. A check returns a text, or throws an error whose message names the problem and the remedy. */
export type Checks = Readonly<Record<string, (config: Config) => string | Promise<string>>>;

/** Free bytes that a volume should have: for the WAL, the reserve and some thousand records. */
const LEAST_FREE = 64 * 1024 * 1024;

/** The folder of the database, or its nearest parent that exists. A link to a missing folder is a problem to report. */
function folderOf(path: string): string {
  let folder = dirname(path);
  while (lstatSync(folder, { throwIfNoEntry: false }) === undefined) folder = dirname(folder);
  return folder;
}

const trialFolder = (path: string): ReturnType<typeof draftFolder> => draftFolder(join(folderOf(path), '.doctor-'));

/** The checks of a SQLite database at `path`, which may not exist yet, and of its last backup. */
export function sqliteChecks(path: string, backupFolder?: string): Checks {
  return {
    'native module': nativeModule,
    'volume writable': () => folderWritable(path),
    'free space': () => freeSpace(path),
    'WAL mode': () => walMode(path),
    'real write': () => realWrite(path),
    'database file': (config) => databaseFile(path, config),
    ...(backupFolder !== undefined && { 'last backup': () => ageOfBackup(backupFolder) }),
  };
}

function nativeModule(): string {
  using database = openDatabase(':memory:');
  const version = database.prepare('SELECT sqlite_version()').pluck().get() as string;
  return `better-sqlite3 with SQLite ${version}, Node ${process.version}`;
}

async function folderWritable(path: string): Promise<string> {
  const folder = folderOf(path);
  try {
    await using trial = await trialFolder(path);
    writeFileSync(join(trial.path, 'file'), 'trial', { flush: true });
    return folder;
  } catch (error) {
    const { cause = error } = error as Error;
    throw new Error(`${folder} cannot be written: ${fileProblem(folder, cause)}`, { cause: error });
  }
}

function freeSpace(path: string): string {
  const { bavail, bsize } = statfsSync(folderOf(path));
  const free = `${Math.floor((bavail * bsize) / 1024 / 1024)} MiB`;
  if (bavail * bsize >= LEAST_FREE) return free;
  throw new Error(`${free} are free on the volume of ${folderOf(path)}: free at least 64 MiB`);
}

async function walMode(path: string): Promise<string> {
  await using folder = await trialFolder(path);
  using database = openDatabase(join(folder.path, 'trial.sqlite'));
  const mode = String(database.pragma('journal_mode = WAL', { simple: true }));
  database.exec('CREATE TABLE trial (id); INSERT INTO trial VALUES (1)');
  if (mode === 'wal') return 'possible on this file system';
  throw new Error(`it stays in mode "${mode}": use a local file system, not one over a network`);
}

function realWrite(path: string): string {
  if (!existsSync(path)) return 'there is no database yet';
  try {
    using database = openDatabase(path, { timeout: 5000 });
    tryWriting(database);
    return `${path} can be written`;
  } catch (error) {
    if (error instanceof DatabaseStartError) throw error;
    const [reason] = (error as Error).message.split('\n');
    throw new Error(`${path} cannot be written (${reason}): ${remedyFor(path, [reason!])}`, { cause: error });
  }
}

async function databaseFile(path: string, config: Config): Promise<string> {
  const problem = lostFileProblem(path);
  if (problem !== undefined) throw new Error(`${path} ${problem}`);
  if (!existsSync(path)) return `${path} does not exist yet; the first start makes it`;
  const { errors, migrations, isEmpty } = await checkFile(path, false);
  if (isEmpty) return `${path} is empty; a start or a migration makes its tables`;
  if (errors.length > 0) throw new Error(`${path}: ${errors.join('; ')}: ${remedyFor(path, errors)}`);
  await using trial = await trialFolder(path);
  const differences = await differencesFromFresh(path, migrations, config, join(trial.path, 'fresh.sqlite'));
  if (differences.length === 0) return `${path} is sound (quick_check)`;
  const remedy = 'undo this, or write a migration that does it; restore rejects such a backup';
  throw new Error(`${path}: ${differences.join('; ')}: ${remedy}`);
}

async function ageOfBackup(folder: string): Promise<string> {
  const [last] = await newestBackups(folder, 1).catch((error: Error) => {
    const remedy = 'mount its disk, or correct BACKUP_DIR or its rights';
    throw new Error(`${folder} cannot be read (${error.message}): ${remedy}`, { cause: error });
  });
  if (last === undefined) throw new Error(`${folder} has no backup: run ${CLI} backup --to ${folder}`);
  const hours = ((Date.now() - last.time) / 3_600_000).toFixed(1);
  return `${last.name}, ${hours} hours old, ${last.size} bytes`;
}

function remedyFor(path: string, errors: readonly string[]): string {
  const all = errors.join();
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return 'it is a folder; name a file in DATABASE_URL';
  if (/newer version/.test(all)) return 'use that version';
  if (/locked|busy/.test(all)) return 'find the process that has locked it, and try again';
  if (/disk I\/O error|is full/.test(all)) return 'check that its volume has space and works';
  if (/unable to open|readonly/.test(all)) {
    const owners = ownersOf([path, `${path}-wal`, `${path}-shm`]);
    return volumeProblem(path) ?? `give the user of the service the right to read and write it (${owners})`;
  }
  return `stop the service, keep a copy of the file, and restore a backup (${CLI} restore)`;
}
