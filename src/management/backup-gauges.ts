import type { Registry } from 'prom-client';
import { lastBackup, type SizedBackup } from './backup-files.js';
import { addGauge } from './add-gauge.js';
import { withinTimeout } from './database-timeout.js';

/** Adds time and size of the last backup in a folder. Both are 0 if there is none, or if the folder cannot be read. */
export function addBackupGauges(registry: Registry, folder: string): void {
  let reading: Promise<SizedBackup | undefined> | undefined;
  // One reading at a time: on a network drive that does not respond, each would block a thread of Node's file system.
  const last = (): Promise<SizedBackup | undefined> => {
    reading ??= lastBackup(folder)
      .catch(() => undefined)
      .finally(() => (reading = undefined));
    return withinTimeout(reading, undefined);
  };
  const readTime = async (): Promise<number> => ((await last())?.time ?? 0) / 1000;
  const readSize = async (): Promise<number> => (await last())?.size ?? 0;
  const time = 'When the last backup in BACKUP_DIR began; 0 if there is none';
  // All workers have the same values.
  addGauge(registry, 'database_last_backup_timestamp_seconds', time, readTime, 'first');
  addGauge(registry, 'database_last_backup_bytes', 'Size of the last backup in BACKUP_DIR', readSize, 'first');
}
