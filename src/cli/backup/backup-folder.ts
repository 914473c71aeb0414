import { existsSync } from 'node:fs';
import { link, rename, rm, stat } from 'node:fs/promises';
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
import { withDraftFolder } from '../sqlite-file/draft-folder.js';
import { pack } from './backup.js';
import { checkCopy } from './check-copy.js';
import { type Keep, supersededBackups } from './retention.js';

export interface FolderOptions {
  readonly to: string;
  /** Seconds between the starts of two backups; absent for a single backup. */
  readonly every?: number;
  /** The older backups to keep after a new one; default: all of them. */
  readonly keep?: Keep;
  readonly skipRecordCheck?: true;
  readonly gzip?: true;
}

/**
 * Makes one backup in a folder, or one after the other until the interrupt.
 * @throws {Failure} when the last backup failed
 */
export async function backupInto(options: FolderOptions, signal: AbortSignal): Promise<void> {
  const { every } = options;
  const config = loadConfigFromProcess(SETTINGS);
  const database = requireSqlite(config, 'backup');
  if (every === undefined) return console.error(await addBackup(options, database, config, signal));
  let failure: Error | undefined;
  while (!signal.aborted) {
    // By the monotonic clock, so that a change of the system time has no effect.
    const next = performance.now() + every * 1000;
    try {
      console.error(await addBackup(options, database, config, signal));
      failure = undefined;
    } catch (error) {
      // An interrupted attempt has not failed.
      if (signal.aborted) break;
      failure = error as Error;
      console.error(failure.message.replaceAll('\n', ' '));
    }
    await sleep(Math.max(0, next - performance.now()), undefined, { signal }).catch(() => {});
  }
  if (failure !== undefined) throw new Failure('The last backup failed.', failure);
}

/** Makes a backup, restores it on trial, then gives it its name, and removes older ones. Returns a line to print. */
async function addBackup(
  { to, keep, gzip, skipRecordCheck }: FolderOptions,
  database: string,
  config: Config,
  interrupt: AbortSignal,
): Promise<string> {
  requireDatabase(config);
  const found = await stat(to).catch(() => undefined);
  if (!found?.isDirectory()) {
    // The command does not make the folder: it may be the mount point of a disk.
    throw new Failure(`There is no new backup: ${to} is no folder. Make it, or mount its disk.`);
  }
  try {
    return await withDraftFolder(join(to, `.${SERVICE_NAME}-backup-`), async (folder) => {
      const time = Date.now();
      const draft = join(folder, 'draft.sqlite');
      await copyDatabase(database, draft, interrupt);
      const trial = join(folder, 'trial.sqlite');
      await copyDatabase(draft, trial, interrupt);
      const backup = { file: `A new backup of ${database}`, skipRecordCheck };
      const { counts } = await checkCopy(trial, backup, config, interrupt);
      interrupt.throwIfAborted();
      const copied = gzip ? await pack(draft, interrupt) : draft;
      const { size } = await stat(copied);
      giveToFolderOwner(copied, folder);
      await sync(copied);
      const path = await publish(copied, to, time);
      const done = `Backed up ${countedRecords(counts)} to ${path} (${size} bytes), and checked it.`;
      const removed = await removeSuperseded(to, keep).catch((error: Error) => {
        throw new Failure(`${done} Older ones cannot be removed: ${error.message}`, error);
      });
      return removed === 0 ? done : `${done} Older ones removed: ${removed}.`;
    });
  } catch (error) {
    interrupt.throwIfAborted();
    if (error instanceof Failure) throw error;
    throw new Failure(`There is no new backup: ${(error as Error).message}.`, error);
  }
}

/** Gives a draft the first free name from `time` on. @returns the path */
async function publish(draft: string, folder: string, time: number): Promise<string> {
  const path = join(folder, backupName(time) + (draft.endsWith('.gz') ? '.gz' : ''));
  const problem = await link(draft, path).catch((error: Error) => error);
  if (problem && existsSync(path)) return publish(draft, folder, time + 1000);
  // Some file systems have no hard links.
  if (problem) await rename(draft, path);
  await syncName(path);
  return path;
}

/** @returns the number of removed backups */
async function removeSuperseded(folder: string, keep: Keep | undefined): Promise<number> {
  if (keep === undefined) return 0;
  const superseded = supersededBackups(await backupsIn(folder), keep, Date.now());
  for (const { name } of superseded) await rm(join(folder, name), { force: true });
  return superseded.length;
}
