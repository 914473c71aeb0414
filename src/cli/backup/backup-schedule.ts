import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfigFromProcess } from '../../config/config.js';
import { SETTINGS } from '../../features.js';
import { lastBackup } from '../../management/backup-files.js';
import { Failure } from '../command-errors.js';
import { requireSqlite } from '../sqlite-file/database-path.js';
import { addBackup, type BackupFolder } from './backup-folder.js';

/** Milliseconds; a timer of Node cannot be longer than 24 days. */
const LONGEST_TIMER = 24 * 24 * 3600 * 1000;

/**
 * Makes one backup in a folder, or one after the other until the interrupt.
 * @param every milliseconds between the starts of two backups
 * @throws {Failure} when the last backup failed
 */
export async function backupInto(
  folder: BackupFolder,
  every: number | undefined,
  interrupt: AbortSignal,
): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  requireSqlite(config, 'backup');
  const attempt = async (): Promise<void> => {
    try {
      console.error(await addBackup(folder, config, interrupt));
    } catch (error) {
      interrupt.throwIfAborted();
      const { message } = error as Error;
      const explained = error instanceof Failure ? message : `There is no new backup: ${message}`;
      throw new Failure(explained.replaceAll('\n', ' '), error);
    }
  };
  if (every === undefined) return attempt();
  let failure: Error | undefined;
  // By the monotonic clock, so that a change of the system time has no effect.
  let next = performance.now() + (await timeToFirst(folder, every));
  while (await sleepUntil(next, interrupt)) {
    next = performance.now() + every;
    try {
      await attempt();
      failure = undefined;
    } catch (error) {
      // An interrupted attempt has not failed.
      if (interrupt.aborted) break;
      failure = error as Error;
      console.error(failure.message);
    }
  }
  if (failure !== undefined) throw new Failure('The last backup failed.', failure);
}

/** Milliseconds until the first backup: `every` after the last one in the folder, also after a restart. */
async function timeToFirst({ path }: BackupFolder, every: number): Promise<number> {
  const last = await lastBackup(path).catch(() => undefined);
  if (last === undefined) return 0;
  const wait = Math.max(0, last.time + every - Date.now());
  if (wait > 0) console.error(`${last.name} is there; the next backup begins in ${Math.ceil(wait / 60_000)} minutes.`);
  return wait;
}

/** @returns `false` after an interrupt */
async function sleepUntil(time: number, signal: AbortSignal): Promise<boolean> {
  const left = Math.max(0, time - performance.now());
  await sleep(Math.min(left, LONGEST_TIMER), undefined, { signal }).catch(() => {});
  return !signal.aborted;
}
