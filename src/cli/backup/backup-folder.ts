import { existsSync } from 'node:fs';
import { rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, loadConfigFromProcess } from '../../config/config.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { giveToFolderOwner } from '../../database/sqlite/file/private-file.js';
import { SETTINGS } from '../../features.js';
import { backupName, backupsIn } from '../../management/backup-files.js';
import { Failure } from '../command-errors.js';
import { sync, syncName } from '../output/replace-file.js';
import { countedRecords } from '../resources/resources.js';
import { copyDatabase } from '../sqlite-file/copy-database.js';
import { requireDatabase, requireSqlite } from '../sqlite-file/database-path.js';
import { draftFolder } from '../sqlite-file/draft-folder.js';
import { checkCopy } from './check-copy.js';
import { pack } from './pack.js';
import { type Keep, supersededBackups } from './retention.js';

interface BackupFolder {
  readonly path: string;
  /** The older backups to keep after a new one; default: all of them. */
  readonly keep?: Keep;
  /** Validates every record of a new backup, as a restore does. */
  readonly recordCheck: boolean;
  /** Packs a new backup with gzip. */
  readonly gzip: boolean;
}

/** Milliseconds; a timer of Node cannot be longer than 24 days. */
const LONGEST_TIMER = 24 * 24 * 3600 * 1000;

/**
 * Makes one backup in a folder, or one after the other until the interrupt.
 * @param every milliseconds between the starts of two backups
 * @throws {Failure} when the last backup failed
 */
export async function backupInto(folder: BackupFolder, every: number | undefined, signal: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  const database = requireSqlite(config, 'backup');
  if (every === undefined) return console.error(await addBackup(folder, database, config, signal));
  let failure: Error | undefined;
  while (!signal.aborted) {
    // By the monotonic clock, so that a change of the system time has no effect.
    const next = performance.now() + every;
    try {
      console.error(await addBackup(folder, database, config, signal));
      failure = undefined;
    } catch (error) {
      // An interrupted attempt has not failed.
      if (signal.aborted) break;
      failure = error as Error;
      console.error(failure.message.replaceAll('\n', ' '));
    }
    const wait = Math.min(Math.max(0, next - performance.now()), LONGEST_TIMER);
    await sleep(wait, undefined, { signal }).catch(() => {});
  }
  if (failure !== undefined) throw new Failure('The last backup failed.', failure);
}

/**
 * Makes a backup in a folder and restores it on trial. If that succeeds, the backup gets its name, and `keep` decides
 * which older ones are removed.
 * @returns a line for the operator
 */
async function addBackup(
  folder: BackupFolder,
  database: string,
  config: Config,
  interrupt: AbortSignal,
): Promise<string> {
  requireDatabase(config);
  await requireFolder(folder.path);
  let drafts: Awaited<ReturnType<typeof draftFolder>> | undefined;
  try {
    drafts = await draftFolder(join(folder.path, `.${SERVICE_NAME}-backup-`));
    const time = Date.now();
    const draft = join(drafts.path, 'draft.sqlite');
    await copyDatabase(database, draft, interrupt);
    const trial = join(drafts.path, 'trial.sqlite');
    await copyDatabase(draft, trial, interrupt);
    const { recordCheck } = folder;
    const { counts } = await checkCopy(trial, { file: `A new backup of ${database}`, recordCheck }, config, interrupt);
    interrupt.throwIfAborted();
    const copied = folder.gzip ? await pack(draft, interrupt) : draft;
    const { size } = await stat(copied);
    giveToFolderOwner(copied, drafts.path);
    await sync(copied);
    const path = await publish(copied, folder, time);
    const done = `Backed up ${countedRecords(counts)} to ${path} (${size} bytes), and checked it.`;
    const removed = await removeSuperseded(folder).catch((error: Error) => {
      throw new Failure(`${done} Older ones cannot be removed: ${error.message}`, error);
    });
    return removed === 0 ? done : `${done} Older ones removed: ${removed}.`;
  } catch (error) {
    interrupt.throwIfAborted();
    if (error instanceof Failure) throw error;
    // SQLite reports a full volume as "disk I/O error", too.
    const { bavail, bsize } = await statfs(folder.path);
    const space = `${bavail * bsize} bytes are free on the volume of ${folder.path}`;
    throw new Failure(`There is no new backup: ${(error as Error).message} (${space}).`, error);
  } finally {
    // After the free space is read, which the drafts have taken.
    await drafts?.[Symbol.asyncDispose]();
  }
}

/** Rejects a missing folder and does not make it: it may be the mount point of a disk. */
async function requireFolder(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
  throw new Failure(`There is no new backup: ${path} is no folder. Make it, or mount its disk.`);
}

/** Gives a draft the first free name from `time` on. @returns the path */
async function publish(draft: string, folder: BackupFolder, time: number): Promise<string> {
  const path = join(folder.path, backupName(time) + (folder.gzip ? '.gz' : ''));
  if (existsSync(path)) return publish(draft, folder, time + 1000);
  await rename(draft, path);
  await syncName(path);
  return path;
}

/** @returns the number of removed backups */
async function removeSuperseded({ path, keep }: BackupFolder): Promise<number> {
  if (keep === undefined) return 0;
  const superseded = supersededBackups(await backupsIn(path), keep, Date.now());
  for (const { name } of superseded) await rm(join(path, name), { force: true });
  return superseded.length;
}
