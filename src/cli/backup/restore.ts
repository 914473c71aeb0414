import { existsSync } from 'node:fs';
import { copyFile, link, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Config, loadConfigFromProcess } from '../../config/config.js';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { makePrivateFolder } from '../../database/sqlite/file/private-file.js';
import { isBusy, sqliteCode } from '../../database/sqlite/sqlite-errors.js';
import { RESOURCES, SETTINGS } from '../../features.js';
import { Failure, UsageError } from '../command-errors.js';
import { followLinks } from '../output/destination.js';
import { ReplacedError, replaceFile, sync } from '../output/replace-file.js';
import { countedRecords } from '../resources/resources.js';
import { isSameFile, requireSqlite } from '../sqlite-file/database-path.js';
import type { FileReport } from '../sqlite-file/file-check.js';
import { requireReadable, seekable } from './backup-source.js';
import { checkedCopy, discardCopy, requireValidRecords } from './checked-copy.js';
import { atPath, BESIDE } from './schema-check.js';

/** Suffixes of the files beside a database in WAL mode. */
const WAL = ['-wal', '-shm'] as const;

export interface RestoreOptions {
  /** Validates every record with its DTO class; a restore without it is faster. */
  readonly recordCheck: boolean;
}

export async function restore(file: string, options: RestoreOptions, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  // A symbolic link to the database remains a link.
  const path = await followLinks(requireSqlite(config, 'restore'));
  if (await isSameFile(file, path)) throw new UsageError(`${file} is the database itself`);
  await requireReadable(file);
  await requireOwner(path);
  const draft = `${path}.restoring`;
  try {
    makePrivateFolder(dirname(path));
    // A killed restore may have left the file.
    await discardCopy(draft);
    const source = await seekable(file, `${draft}-from`, interrupt);
    const { counts, pending } = await checkedCopy({ file, source, draft }, config, interrupt);
    if (source !== file) await rm(source);
    if (options.recordCheck) await requireValidRecords(file, atPath(config, draft), interrupt);
    else console.error('The records were not checked (--skip-record-check).');
    await finish(draft);
    interrupt.throwIfAborted();
    const aside = await replaceDatabase(draft, path);
    console.error(
      `Restored ${countedRecords(counts)} from ${file} to ${path}, under a new epoch: older ETags are no longer valid.`,
    );
    if (aside !== undefined) {
      console.error(`The old database is now ${aside}; remove it when you no longer need it.`);
      await removeEarlierAsides(path, aside);
    }
    warnOfCapacity(counts, config);
    if (pending.length > 0) {
      const ran = options.recordCheck ? 'The check of the records has run' : 'The next start runs';
      console.error(`${ran} the migrations ${pending.join(', ')}.`);
    }
  } catch (error) {
    await discardCopy(draft);
    if (error instanceof ReplacedError) throw error;
    if (interrupt.aborted) throw new Failure('Interrupted. The storage is as it was.', interrupt.reason);
    if (error instanceof Failure) throw new Failure(`${error.message} The storage is as it was.`, error);
    throw new Failure(`${file} is not restored: ${(error as Error).message}. The storage is as it was.`, error);
  }
}

/** @throws {Failure} if the restored database could not get the owner of the old one */
async function requireOwner(path: string): Promise<void> {
  const user = process.geteuid?.();
  const owner = (await stat(path).catch(() => undefined))?.uid;
  if (user === undefined || user === 0 || owner === undefined || owner === user) return;
  throw new Failure(
    `${path} belongs to the user ${owner}, and this command runs as the user ${user}, who cannot make a file for another: ` +
      `run it as the user ${owner}, or as root.`,
  );
}

export function warnOfCapacity(counts: FileReport['counts'], config: Config): void {
  for (const { name, capacity } of RESOURCES) {
    const [stored, allowed] = [counts.get(name.plural) ?? 0, config.get(capacity)];
    if (stored <= allowed) continue;
    console.error(
      `Warning: these are more than ${capacity.name} allows (${allowed}): POST is rejected with 507 until it is raised or ` +
        `${stored - allowed + 1} ${name.pluralText} are deleted.`,
    );
  }
}

async function finish(draft: string): Promise<void> {
  for (const suffix of BESIDE) await rm(draft + suffix, { force: true });
  clearProcessState(draft);
  // `sync` comes before the lock is taken, because a signal can still be handled here.
  await sync(draft);
}

/**
 * Deletes the rows in which processes store their own state. They may be forged: a lease that never expires would stop
 * its work forever. A new epoch comes with the triggers (`makeTriggers`), which every copy lacks.
 */
function clearProcessState(draft: string): void {
  using database = openDatabase(draft, { fileMustExist: true });
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('leases', 'rate_limits')`).pluck();
  for (const table of tables.all() as string[]) database.exec(`DELETE FROM ${table}`);
}

/**
 * Puts a draft in the place of the database, and keeps the old database beside it.
 * @returns the new path of the old database; `undefined` if there was none
 * @throws {Failure} when another process has the database open
 */
async function replaceDatabase(draft: string, path: string): Promise<string | undefined> {
  if (!existsSync(path)) {
    await replaceFile(draft, path);
    return undefined;
  }
  using lock = acquireExclusiveLock(path);
  if (lock === undefined)
    throw new Failure(`${path} is in use. Stop the service, and whatever else has it open, first.`);
  const aside = `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  try {
    await keepAside(path, aside);
    await replaceFile(draft, path);
  } catch (error) {
    if (!(error instanceof ReplacedError)) await takeBack(path, aside);
    throw error;
  }
  return aside;
}

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
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(sqliteCode(error))) return { [Symbol.dispose]: () => {} };
    throw error;
  }
}

/** Gives the old database a second name, so that a complete database has the first name at every moment. */
async function keepAside(path: string, aside: string): Promise<void> {
  // These files exist only beside a damaged database. SQLite would use an old WAL for the new database.
  for (const suffix of WAL) {
    if (existsSync(path + suffix)) await rename(path + suffix, aside + suffix);
  }
  // Some file systems have no hard links.
  await link(path, aside).catch(() => copyFile(path, aside));
}

/** Undoes `keepAside`: with two names, a database would get two WAL files. */
async function takeBack(path: string, aside: string): Promise<void> {
  for (const suffix of WAL) {
    if (existsSync(aside + suffix)) await rename(aside + suffix, path + suffix);
  }
  await rm(aside, { force: true });
}

/** Removes the databases that earlier restores kept, because one old database is enough. */
async function removeEarlierAsides(path: string, aside: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!isAside(name, basename(path)) || name.startsWith(basename(aside))) continue;
    await rm(join(folder, name), { force: true });
    console.error(`Removed ${join(folder, name)}, which an earlier restore had kept.`);
  }
}

/** Matches the time in the name, so that no other file with a similar name is removed. */
function isAside(name: string, database: string): boolean {
  const prefix = `${database}.before-`;
  if (!name.startsWith(prefix)) return false;
  return /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z(-wal|-shm)?$/.test(name.slice(prefix.length));
}
