import { existsSync } from 'node:fs';
import { copyFile, link, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadConfigFromProcess } from '../../config/config.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { type Database, openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { makePrivateFolder } from '../../database/sqlite/file/private-file.js';
import { isBusy, sqliteCode } from '../../database/sqlite/sqlite-errors.js';
import { SETTINGS } from '../../features.js';
import { Failure, UsageError } from '../command-errors.js';
import { requireReadable } from '../input.js';
import { resolveLinks } from '../output/destination.js';
import { replaceFile, sync } from '../output/replace-file.js';
import { countedRecords } from '../resources/resources.js';
import { isSameFile, requireSqlite } from '../sqlite-file/database-path.js';
import { withDraftFolder } from '../sqlite-file/draft-folder.js';
import { receiveBackup } from './backup-source.js';
import { checkCopy } from './check-copy.js';

export interface RestoreOptions {
  /** Only checks whether the backup can be restored. */
  readonly verify?: true;
  readonly skipRecordCheck?: true;
}

/** @throws {Failure} with the reason why the backup cannot be restored */
export async function restore(file: string, options: RestoreOptions, interrupt: AbortSignal): Promise<void> {
  const { verify, skipRecordCheck } = options;
  const config = loadConfigFromProcess(SETTINGS);
  // A symbolic link to the database remains a link.
  const path = await resolveLinks(requireSqlite(config, 'restore'));
  if (await isSameFile(file, path)) throw new UsageError(`${file} is the database itself`);
  await requireReadable(file);
  try {
    if (!verify) makePrivateFolder(dirname(path));
    const place = verify ? join(tmpdir(), `${SERVICE_NAME}-verify-`) : `${path}.restoring-`;
    await withDraftFolder(place, async (folder) => {
      // Reports a database in use before the long check of the backup.
      if (!verify && existsSync(path)) acquireExclusiveLock(path, takeAllLocks)[Symbol.dispose]();
      const copy = join(folder, 'draft.sqlite');
      await receiveBackup(file, copy, interrupt);
      const { counts, pending } = await checkCopy(copy, { file, skipRecordCheck }, config, interrupt);
      const records = countedRecords(counts);
      if (verify) console.error(`${file} can be restored: it holds ${records}. Nothing was changed.`);
      else await replaceStorage(copy, path, `${records} from ${file}`, interrupt);
      if (skipRecordCheck) console.error('The records were not checked (--skip-record-check).');
      if (pending.length === 0) return;
      const isDone = !verify && !skipRecordCheck;
      const ran = isDone ? 'The check of the records has run' : 'After a restore, the next start runs';
      console.error(`${ran} the migrations ${pending.join(', ')}.`);
    });
  } catch (error) {
    const state = verify
      ? `The check was made in ${tmpdir()}; TMPDIR names another folder.`
      : 'The storage is as it was.';
    if (interrupt.aborted) throw new Failure(`Interrupted. ${state}`, interrupt.reason);
    const { message } = error as Error;
    throw new Failure(`${error instanceof Failure ? message : `${file} is not restored: ${message}.`} ${state}`, error);
  }
}

/** Puts a checked copy in the place of the database, which must not be in use, and keeps the old one beside it. */
async function replaceStorage(copy: string, path: string, what: string, interrupt: AbortSignal): Promise<void> {
  // The process can still handle a signal here, before it takes the lock.
  await sync(copy);
  interrupt.throwIfAborted();
  const isThere = existsSync(path);
  using _lock = isThere ? acquireExclusiveLock(path, leaveWalMode) : NO_LOCK;
  const aside = `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  try {
    await moveLeftovers(path, aside);
    // The old database keeps its name until the rename, so `path` is always complete. Without hard links, it is copied.
    if (existsSync(path)) await link(path, aside).catch(() => copyFile(path, aside));
    await replaceFile(copy, path);
  } catch (error) {
    await moveLeftovers(aside, path);
    // A database with two names would get two WAL files.
    await rm(aside, { force: true });
    throw error;
  }
  console.error(`Restored ${what} to ${path}, under a new epoch: older ETags are no longer valid.`);
  if (isThere) console.error(`The old database is now ${aside}; remove it when you no longer need it.`);
}

const NO_LOCK: Disposable = { [Symbol.dispose]: () => {} };

/** Locks a database file against all other processes until `using` releases the lock. */
function acquireExclusiveLock(path: string, lock: (database: Database) => void): Disposable {
  const database = openDatabase(path, { fileMustExist: true, timeout: 0 });
  try {
    lock(database);
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) {
      throw new Failure(`${path} is in use. Stop the service, and whatever else has it open, first.`, error);
    }
    // No service can use such a file, so no lock is needed.
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(sqliteCode(error))) return NO_LOCK;
    throw error;
  }
}

/** Fails beside any process that has the database open. Changes nothing, unless a killed service has left a WAL. */
function takeAllLocks(database: Database): void {
  database.pragma('locking_mode = EXCLUSIVE');
  database.prepare('SELECT count(*) FROM sqlite_schema').get();
}

/** Moves the WAL into the file. Fails while another process has the database open. */
function leaveWalMode(database: Database): void {
  const mode = database.pragma('journal_mode = DELETE', { simple: true });
  if (mode !== 'delete') throw Object.assign(new Error('in use'), { code: 'SQLITE_BUSY' });
  database.exec('BEGIN EXCLUSIVE');
}

/** Renames files that exist only beside a damaged database, or when the database alone was removed. */
async function moveLeftovers(from: string, to: string): Promise<void> {
  // SQLite would apply these files to a new database of this name.
  for (const suffix of ['-journal', '-wal', '-shm']) {
    if (existsSync(from + suffix)) await rename(from + suffix, to + suffix);
  }
}
