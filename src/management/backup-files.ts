import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICE_NAME } from '../config/service-name.js';

/** A backup that `cli backup --to` has made. A file gets such a name only after all checks. */
export interface BackupFile {
  readonly name: string;
  /** Milliseconds since the epoch, in whole seconds: when the copy began. */
  readonly time: number;
}

/** The name of a backup by UTC, so that names sort by time: `<service>-20261124T191200Z.sqlite`. gzip adds `.gz`. */
export function backupName(time: number): string {
  return `${SERVICE_NAME}-${new Date(time).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')}.sqlite`;
}

/** @returns `undefined` for the name of any other file */
function backupTime(name: string): number | undefined {
  const pattern = /^.*-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.sqlite(\.gz)?$/;
  const time = Date.parse(name.replace(pattern, '$1-$2-$3T$4:$5:$6Z'));
  return !Number.isNaN(time) && backupName(time) === name.replace(/\.gz$/, '') ? time : undefined;
}

/** The backups in a folder, newest first, without other files. @throws SystemError */
export async function backupsIn(folder: string): Promise<BackupFile[]> {
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  const timed = files.map(({ name }) => ({ name, time: backupTime(name) }));
  const backups = timed.filter((file): file is BackupFile => file.time !== undefined);
  return backups.sort((one, other) => other.time - one.time);
}

/**
 * The newest backups with their sizes in bytes. A name with a future time, left by a clock set back, does not count.
 * @throws SystemError
 */
export async function newestBackups(folder: string, most: number) {
  const now = Date.now();
  const newest = (await backupsIn(folder)).filter(({ time }) => time <= now).slice(0, most);
  const withSize = async (backup: BackupFile) => ({ ...backup, size: (await stat(join(folder, backup.name))).size });
  return Promise.all(newest.map(withSize));
}
