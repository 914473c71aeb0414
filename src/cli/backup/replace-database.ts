import { existsSync } from 'node:fs';
import { copyFile, link, rename, rm } from 'node:fs/promises';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { isBusy, sqliteCode } from '../../database/sqlite/sqlite-errors.js';
import { Failure } from '../command-errors.js';
import { replaceFile } from '../output/replace-file.js';

/** Suffixes of the files that SQLite would apply to a new database of this name. */
const BESIDE = ['-journal', '-wal', '-shm'] as const;

/**
 * Puts a draft in the place of the database, and keeps the old database beside it.
 * @returns the new path of the old database; `undefined` if there was none
 * @throws {Failure} when another process has the database open
 */
export async function replaceDatabase(draft: string, path: string): Promise<string | undefined> {
  const isThere = existsSync(path);
  using lock = isThere ? acquireExclusiveLock(path) : NO_LOCK;
  if (lock === undefined)
    throw new Failure(`${path} is in use. Stop the service, and whatever else has it open, first.`);
  const aside = `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  try {
    await keepAside(path, aside);
    await replaceFile(draft, path);
  } catch (error) {
    await takeBack(path, aside);
    throw error;
  }
  return isThere ? aside : undefined;
}

const NO_LOCK: Disposable = { [Symbol.dispose]: () => {} };

/**
 * Locks a database file against all other processes and folds its WAL into it, so that it can be replaced.
 * @returns the lock, which `using` releases; `undefined` when another process has the file open
 * @throws SqliteError
 */
function acquireExclusiveLock(path: string): Disposable | undefined {
  const database = openDatabase(path, { fileMustExist: true, timeout: 0 });
  try {
    // Every process with a WAL database open holds a lock, and leaving WAL mode requires all locks.
    const mode = database.pragma('journal_mode = DELETE', { simple: true });
    if (mode !== 'delete') throw Object.assign(new Error('in use'), { code: 'SQLITE_BUSY' });
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    // No service can use such a file, so no lock is needed.
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(sqliteCode(error))) return NO_LOCK;
    throw error;
  }
}

/** Gives the old database a second name, so that a complete database has the first name at every moment. */
async function keepAside(path: string, aside: string): Promise<void> {
  // These files exist only beside a damaged database, or when the database alone was removed.
  for (const suffix of BESIDE) {
    if (existsSync(path + suffix)) await rename(path + suffix, aside + suffix);
  }
  // Some file systems have no hard links.
  if (existsSync(path)) await link(path, aside).catch(() => copyFile(path, aside));
}

/** Undoes `keepAside`: with two names, a database would get two WAL files. */
async function takeBack(path: string, aside: string): Promise<void> {
  for (const suffix of BESIDE) {
    if (existsSync(aside + suffix)) await rename(aside + suffix, path + suffix);
  }
  await rm(aside, { force: true });
}
