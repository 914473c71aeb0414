import { InvalidArgumentError } from 'commander';
import type { BackupFile } from '../../management/backup-files.js';

const HOUR = 3600 * 1000;
const DAY = 24 * HOUR;

/** The number of the hour, day and week of a time, in UTC. Weeks begin on Monday; 1970 began on a Thursday. */
const PERIODS = {
  h: (time: number) => Math.floor(time / HOUR),
  d: (time: number) => Math.floor(time / DAY),
  w: (time: number) => Math.floor((time / DAY + 3) / 7),
} as const;

type Unit = keyof typeof PERIODS;

/** Numbers of hours, days and weeks. One backup is kept for each hour, day and week of these. */
export type Keep = ReadonlyMap<Unit, number>;

/** Parses `24h,7d,4w`. */
export function parseKeep(text: string): Keep {
  const keep = new Map<Unit, number>();
  for (const part of text.split(',')) {
    const [, count, unit] = /^([1-9][0-9]{0,3})([hdw])$/.exec(part) ?? [];
    if (count === undefined || keep.has(unit as Unit)) {
      throw new InvalidArgumentError('It must be one or more numbers of hours, days or weeks, such as 24h,7d,4w.');
    }
    keep.set(unit as Unit, Number(count));
  }
  return keep;
}

/**
 * The backups to remove. The newest one of each of the last hours, days and weeks stays. A period without a backup does
 * not count, as in `restic forget` and `borg prune`, so a long pause removes no further backups.
 * @param backups newest first
 * @param now in milliseconds; a later backup (the clock was set back) neither counts nor is removed
 */
export function supersededBackups(backups: readonly BackupFile[], keep: Keep, now: number): BackupFile[] {
  const past = backups.filter(({ time }) => time <= now);
  const kept = new Set<BackupFile>();
  for (const [unit, count] of keep) {
    const newest = new Map<number, BackupFile>();
    for (const backup of past) {
      const period = PERIODS[unit](backup.time);
      if (!newest.has(period) && newest.size < count) newest.set(period, backup);
    }
    for (const backup of newest.values()) kept.add(backup);
  }
  return past.filter((backup) => !kept.has(backup));
}
