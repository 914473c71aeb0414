import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { loadConfigFromProcess } from '../config/config.js';
import { knownMigrations } from '../database/schema-version.js';
import { holdAlone, renewEpoch } from '../database/sqlite/exclusive.js';
import { checkFile } from '../database/sqlite/file-check.js';
import { PRIVATE_FOLDER } from '../database/sqlite/private-file.js';
import { copy, isSameFile } from './backup.js';
import { Failure, UsageError } from './errors.js';
import { examples } from './examples.js';
import { requireSqlite } from './open-database.js';
import { replaceFile, sync } from './replace-file.js';

export function restoreCommand(interrupt: AbortSignal): Command {
  return new Command('restore')
    .description('put a backup in the place of the SQLite database; the service must be stopped')
    .argument('<file>', 'the backup; it stays as it is')
    .addHelpText('after', `\n${NOTE}${examples('restore /backups/cookies.sqlite')}`)
    .action((file: string) => restore(file, interrupt));
}

const NOTE = `Refuses a file that is damaged, comes from a newer version, or counts other cookies than it holds. The database that
is replaced stays beside the new one. Until the last step, which is one rename, the storage is as it was.
`;

async function restore(file: string, interrupt: AbortSignal): Promise<void> {
  const path = requireSqlite(loadConfigFromProcess(), 'restore', 'pg_restore');
  if (!existsSync(file)) throw new Failure(`There is no file ${file}.`);
  if (await isSameFile(file, path)) throw new UsageError(`${file} is the database itself`);
  const draft = `${path}.restoring`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
    const { cookies, pending } = await prepare(file, draft, interrupt);
    interrupt.throwIfAborted();
    const aside = await putInPlace(draft, path);
    console.error(`Restored ${cookies} cookies from ${file} to ${path}, under a new epoch: no ETag of before holds.`);
    if (aside !== undefined) console.error(`What was there is now ${aside}; remove it when you need it no more.`);
    if (pending.length > 0) console.error(`The next start runs the migrations ${pending.join(', ')}.`);
  } catch (error) {
    await discard(draft);
    if (interrupt.aborted) throw new Failure('Interrupted. The storage is as it was.', interrupt.reason);
    if (error instanceof Failure) throw new Failure(`${error.message} The storage is as it was.`, error);
    throw new Failure(`${file} is not restored: ${(error as Error).message}. The storage is as it was.`, error);
  }
}

/** Makes of the backup, beside the database, what shall take its place. */
async function prepare(file: string, draft: string, interrupt: AbortSignal) {
  // An earlier restore may have been killed.
  await discard(draft);
  const known = await knownMigrations();
  const seen = checkFile(file, known);
  if (seen.faults.length > 0) throw new Failure(`${file} cannot be restored: ${seen.faults.join('; ')}.`);
  await copy(file, draft, { readonly: true, interrupt });
  // The backup may lie on a bad disk: what counts is what was read.
  const { faults, counts, migrations } = checkFile(draft, known);
  if (faults.length > 0) throw new Failure(`The copy of ${file} is not sound: ${faults.join('; ')}.`);
  renewEpoch(draft, randomBytes(6).toString('hex'));
  await sync(draft);
  return { cookies: counts.get('cookies'), pending: known.filter((name) => !migrations.includes(name)) };
}

/** @returns where the database is now that was there */
async function putInPlace(draft: string, path: string): Promise<string | undefined> {
  if (!existsSync(path)) {
    await replaceFile(draft, path);
    return undefined;
  }
  const held = holdAlone(path);
  if (held === undefined)
    throw new Failure(`${path} is in use. Stop the service, and whatever else has it open, first.`);
  const aside = `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  try {
    await keepAside(path, aside);
    await replaceFile(draft, path);
  } finally {
    held.release();
  }
  return aside;
}

/** A second name for the file, so that at every moment a whole database has the first one. */
async function keepAside(path: string, aside: string): Promise<void> {
  // Only beside a database too broken to be opened; beside the new one a WAL would be taken for its own.
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(path + suffix)) await rename(path + suffix, aside + suffix);
  }
  // Not every file system knows links.
  await link(path, aside).catch(() => copyFile(path, aside));
}

async function discard(draft: string): Promise<void> {
  for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(draft + suffix, { force: true });
}
