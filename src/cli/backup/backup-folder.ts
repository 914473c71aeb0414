import { existsSync } from 'node:fs';
import { link, mkdtemp, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import type { Config } from '../../config/config.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { giveToFolderOwner } from '../../database/sqlite/file/private-file.js';
import { backupName, backupsIn } from '../../management/backup-files.js';
import { Failure } from '../command-errors.js';
import { sync } from '../output/replace-file.js';
import { countedRecords } from '../resources/resources.js';
import { requireDatabase, requireSqlite } from '../sqlite-file/database-path.js';
import { checkedCopy } from './checked-copy.js';
import { copy, pack } from './copy.js';
import { type Keep, supersededBackups } from './retention.js';

export interface BackupFolder {
  readonly path: string;
  /** The older backups to keep after a new one; default: all of them. */
  readonly keep?: Keep;
  /** Validates every record of a new backup, as a restore does. */
  readonly recordCheck: boolean;
  /** Packs a new backup with gzip. */
  readonly gzip: boolean;
}

const HOST = hostname().replaceAll(/[^\w.]/g, '-');

/** The folder of a backup in progress has the host and the process in its name. */
const DRAFT = new RegExp(`^\\.${SERVICE_NAME}-backup-(.+)-([0-9]+)-[0-9A-Za-z]{6}$`);

/** Milliseconds after which the process of a draft counts as dead, also on another host. */
const LONGEST_BACKUP = 24 * 3600 * 1000;

/**
 * Makes a backup in a folder and restores it on trial. If that succeeds, the backup gets its name, and `keep` decides
 * which older ones are removed.
 * @returns a line for the operator
 */
export async function addBackup(folder: BackupFolder, config: Config, interrupt: AbortSignal): Promise<string> {
  requireDatabase(config);
  await requireFolder(folder.path);
  await removeDeadDrafts(folder.path);
  const draftFolder = await mkdtemp(join(folder.path, `.${SERVICE_NAME}-backup-${HOST}-${process.pid}-`));
  try {
    const time = Date.now();
    const draft = join(draftFolder, 'draft.sqlite');
    const database = requireSqlite(config, 'backup');
    await copy(database, draft, { readonly: false, interrupt });
    const trial = { file: `A new backup of ${database}`, source: draft, draft: join(draftFolder, 'trial.sqlite') };
    const { counts } = await checkedCopy({ ...trial, recordCheck: folder.recordCheck }, config, interrupt);
    interrupt.throwIfAborted();
    const copied = folder.gzip ? await pack(draft, interrupt) : draft;
    const { size } = await stat(copied);
    const path = await publish(copied, folder, time);
    const done = `Backed up ${countedRecords(counts)} to ${path} (${size} bytes), and checked it.`;
    const removed = await removeSuperseded(folder).catch((error: Error) => {
      throw new Failure(`${done} Older ones cannot be removed: ${error.message}`, error);
    });
    return removed === 0 ? done : `${done} Older ones removed: ${removed}.`;
  } catch (error) {
    if (error instanceof Failure) throw error;
    // SQLite reports a full volume as "disk I/O error", too.
    const { bavail, bsize } = await statfs(folder.path);
    const space = `${bavail * bsize} bytes are free on the volume of ${folder.path}`;
    throw new Failure(`There is no new backup: ${(error as Error).message} (${space}).`, error);
  } finally {
    await rm(draftFolder, { recursive: true, force: true });
  }
}

/** Rejects a missing folder and does not make it: it may be the mount point of a disk. */
async function requireFolder(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
  throw new Failure(`There is no new backup: ${path} is no folder. Make it, or mount its disk.`);
}

/**
 * Gives a draft the first free name from `time` on. It never replaces a file, which another process may have made.
 * @returns the path
 */
async function publish(draft: string, folder: BackupFolder, time: number): Promise<string> {
  giveToFolderOwner(draft, join(folder.path, basename(draft)));
  await sync(draft);
  const path = await moveToFreeName(draft, folder, time);
  try {
    await sync(folder.path);
  } catch (error) {
    const reason = (error as Error).message;
    throw new Failure(`${path} may be gone after a power cut: its folder cannot be synced (${reason}).`, error);
  }
  return path;
}

async function moveToFreeName(draft: string, { path: folder, gzip }: BackupFolder, from: number): Promise<string> {
  for (let time = from; ; time += 1000) {
    const path = join(folder, backupName(time) + (gzip ? '.gz' : ''));
    if (existsSync(path)) continue;
    try {
      await link(draft, path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      // Some file systems have no hard links.
      await rename(draft, path);
    }
    return path;
  }
}

/** @returns the number of removed backups */
async function removeSuperseded({ path, keep }: BackupFolder): Promise<number> {
  if (keep === undefined) return 0;
  const superseded = supersededBackups(await backupsIn(path), keep, Date.now());
  for (const { name } of superseded) await rm(join(path, name), { force: true });
  return superseded.length;
}

/** Removes the drafts of killed processes. A draft of another host, such as another container, stays for a day. */
async function removeDeadDrafts(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const [, host, pid] = DRAFT.exec(entry.name) ?? [];
    if (host === undefined || !entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    const isOld = Date.now() - (await stat(path)).mtimeMs > LONGEST_BACKUP;
    if (isOld || (host === HOST && !isAnotherProcess(Number(pid)))) await rm(path, { recursive: true, force: true });
  }
}

function isAnotherProcess(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
