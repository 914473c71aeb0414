import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { access, constants, copyFile, link, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Config, loadConfigFromProcess } from '../../config/config.js';
import { RESOURCES, SETTINGS } from '../../features.js';
import { acquireExclusiveLock } from '../sqlite-file/exclusive-lock.js';
import { checkFile, type FileReport, schemaDifferences } from '../sqlite-file/file-check.js';
import { readingOnly } from '../sqlite-file/file-copy.js';
import { makePrivateFolder, PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { migrate } from '../../database/schema/migrations.js';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { auditTriggerNames } from '../../resource/audit/audit-triggers.js';
import { sqliteTriggerNames } from '../../resource/usage/triggers.js';
import { openDataSource } from '../resources/open-storage.js';
import { copy } from './backup.js';
import { requireValidRecords } from './record-check.js';
import { destinationOf, followLinks } from '../output/destination.js';
import { Failure, UsageError } from '../command-errors.js';
import { isSameFile, requireSqlite } from '../sqlite-file/database-path.js';
import { countedRecords, expectedContents } from '../resources/resources.js';
import { ReplacedError, replaceFile, sync } from '../output/replace-file.js';

/** Suffixes of the files beside a database in WAL mode. */
const WAL = ['-wal', '-shm'] as const;
/** Suffixes of all files beside a database, those of the service included. */
const BESIDE = ['-journal', '-reserve', ...WAL] as const;

export interface RestoreOptions {
  /** Validates every record with its DTO class; a restore without it is faster. */
  readonly recordCheck: boolean;
}

export async function restore(file: string, options: RestoreOptions, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  // A symbolic link to the database remains a link.
  const path = await followLinks(requireSqlite(config, 'restore', 'pg_restore'));
  if (await isSameFile(file, path)) throw new UsageError(`${file} is the database itself`);
  await requireReadable(file);
  await requireOwner(path);
  const draft = `${path}.restoring`;
  try {
    makePrivateFolder(dirname(path));
    const source = await seekable(file, draft, interrupt);
    const { counts, pending } = await prepare(file, source, draft, config, interrupt);
    if (options.recordCheck) await requireValidRecords(file, atPath(config, draft), interrupt);
    else console.error('The records were not checked (--skip-record-check).');
    await finish(draft);
    interrupt.throwIfAborted();
    const aside = await putInPlace(draft, path);
    console.error(
      `Restored ${countedRecords(counts)} from ${file} to ${path}, under a new epoch: no ETag of before holds.`,
    );
    if (aside !== undefined) {
      console.error(`What was there is now ${aside}; remove it when you need it no more.`);
      await removeEarlierAsides(path, aside);
    }
    warnOfCapacity(counts, config);
    if (pending.length > 0) {
      const ran = options.recordCheck ? 'For the check of the records, it has had' : 'The next start runs';
      console.error(`${ran} the migrations ${pending.join(', ')}.`);
    }
  } catch (error) {
    await discard(draft);
    if (error instanceof ReplacedError) throw error;
    if (interrupt.aborted) throw new Failure('Interrupted. The storage is as it was.', interrupt.reason);
    if (error instanceof Failure) throw new Failure(`${error.message} The storage is as it was.`, error);
    throw new Failure(`${file} is not restored: ${(error as Error).message}. The storage is as it was.`, error);
  }
}

/** @throws {Failure} with the user who cannot read the file, who differs from the caller in a container */
async function requireReadable(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Failure(`There is no file ${file}.`, error);
    if (code !== 'EACCES') throw new Failure(`${file} cannot be read: ${message}.`, error);
    throw new Failure(
      `${file} cannot be read by the user ${process.geteuid?.()}, as whom this command runs: give that user the right to ` +
        'read it and to enter its folder, or copy it to where that user may read.',
      error,
    );
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

function warnOfCapacity(counts: FileReport['counts'], config: Config): void {
  for (const { name, capacity } of RESOURCES) {
    const [stored, allowed] = [counts.get(name.plural) ?? 0, config.get(capacity)];
    if (stored <= allowed) continue;
    console.error(
      `Warning: these are more than ${capacity.name} allows (${allowed}): POST is rejected with 507 until it is raised or ` +
        `${stored - allowed + 1} ${name.pluralText} are deleted.`,
    );
  }
}

/**
 * SQLite reads only files. A backup from a pipe, as in a container, is first written beside the database.
 * @returns the file to read
 */
async function seekable(file: string, draft: string, signal: AbortSignal): Promise<string> {
  // A killed restore may have left the file.
  await discard(draft);
  const from = await destinationOf(file);
  if (from.kind === 'file') return file;
  const received = `${draft}-from`;
  // stdin may be a socket, which cannot be reopened by its name.
  const bytes = from.kind === 'descriptor' && from.fd === 0 ? process.stdin : createReadStream(file);
  await pipeline(bytes, createWriteStream(received, { flags: 'wx', mode: PRIVATE_FILE }), { signal });
  return received;
}

/** Makes a checked copy of the backup beside the database, which replaces it later. */
async function prepare(file: string, source: string, draft: string, config: Config, interrupt: AbortSignal) {
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
  if (source !== file) await rm(source);
  // The copy is checked, not the backup: its disk may be damaged.
  const { errors, counts, migrations } = checkFile(draft, expected);
  if (errors.length > 0) throw new Failure(`The copy of ${file} is not sound: ${errors.join('; ')}.`);
  const differences = await differencesFromFresh(draft, migrations, config);
  if (differences.length > 0) throw new Failure(`${file} cannot be restored: ${differences.join('; ')}.`);
  return { counts, pending: expected.migrations.filter((name) => !migrations.includes(name)) };
}

async function finish(draft: string): Promise<void> {
  for (const suffix of BESIDE) await rm(draft + suffix, { force: true });
  renew(draft);
  // `sync` comes before the lock is taken, because a signal can still be handled here.
  await sync(draft);
}

/**
 * Gives a copy a new epoch, so that older ETags never match again, and deletes what processes have stored for themselves. That may be
 * made up: a lease without end would stop its work for good.
 */
function renew(draft: string): void {
  using database = openDatabase(draft, { fileMustExist: true });
  database.prepare('UPDATE storage SET epoch = ?').run(randomBytes(6).toString('hex'));
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('leases', 'rate_limits')`).pluck();
  for (const table of tables.all() as string[]) database.exec(`DELETE FROM ${table}`);
}

/** Compares the schema with that of a new database after the same migrations: an additional trigger, for example, would run. */
async function differencesFromFresh(draft: string, migrations: readonly string[], config: Config): Promise<string[]> {
  const path = `${draft}-fresh`;
  {
    await using dataSource = await openDataSource(atPath(config, path));
    const had = dataSource.migrations.filter((each) => migrations.includes(each.name ?? each.constructor.name));
    Object.assign(dataSource, { migrations: had });
    await migrate(dataSource);
  }
  try {
    for (const file of [draft, path]) dropResourceTriggers(file);
    return schemaDifferences(draft, path);
  } finally {
    for (const suffix of ['', ...BESIDE]) await rm(path + suffix, { force: true });
  }
}

/** Drops triggers with the names of the service's, which may be hostile. The next start makes the right ones. */
function dropResourceTriggers(path: string): void {
  using database = openDatabase(path);
  for (const name of RESOURCES.flatMap(({ name: { plural } }) => [
    ...sqliteTriggerNames(plural),
    ...auditTriggerNames(plural),
  ])) {
    database.exec(`DROP TRIGGER IF EXISTS "${name}"`);
  }
}

const atPath = (config: Config, path: string): Config =>
  new Config({ ...config, database: { ...config.database, url: { engine: 'sqlite', path } } });

/** @returns the new path of the old database */
async function putInPlace(draft: string, path: string): Promise<string | undefined> {
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

/** Removes the databases that earlier restores kept: one is enough to go back to. */
async function removeEarlierAsides(path: string, aside: string): Promise<void> {
  const kept = basename(aside);
  for (const name of await readdir(dirname(path))) {
    if (!isAside(name, basename(path)) || name.startsWith(kept)) continue;
    await rm(join(dirname(path), name), { force: true });
    console.error(`Removed ${join(dirname(path), name)}, which an earlier restore had kept.`);
  }
}

/** Matches the time in the name, so that no other file with a similar name is removed. */
function isAside(name: string, database: string): boolean {
  if (!name.startsWith(`${database}.before-`)) return false;
  return /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z(-wal|-shm)?$/.test(name.slice(`${database}.before-`.length));
}

async function discard(draft: string): Promise<void> {
  for (const suffix of ['', '-from', '-fresh', ...BESIDE]) await rm(draft + suffix, { force: true });
  for (const suffix of BESIDE) await rm(`${draft}-fresh${suffix}`, { force: true });
}
