import { backupName, type BackupFile } from '../../management/backup-files.js';
import { parseKeep, supersededBackups } from './retention.js';

const at = (time: string): BackupFile => ({ name: backupName(Date.parse(time)), time: Date.parse(time) });
const HOUR = 3600 * 1000;

/** Backups every `interval` milliseconds, newest first. */
const every = (interval: number, count: number, last: string): BackupFile[] =>
  Array.from({ length: count }, (_, index) => at(new Date(Date.parse(last) - index * interval).toISOString()));

/** The names of the backups that stay. */
function kept(backups: readonly BackupFile[], keep: string): string[] {
  const superseded = supersededBackups(backups, parseKeep(keep), Date.parse('2026-11-24T12:30:00Z'));
  return backups.filter((backup) => !superseded.includes(backup)).map(({ name }) => name.slice(8, 21));
}

describe('supersededBackups', () => {
  it('keeps the newest backup of each of the last hours, days and weeks', () => {
    const backups = every(HOUR / 4, 4 * 24 * 60, '2026-11-24T12:00:00Z');
    // The newest backup of an hour is the one at 45 minutes past; weeks end on Sunday.
    expect(kept(backups, '3h')).toEqual(['20261124T1200', '20261124T1145', '20261124T1045']);
    expect(kept(backups, '3d')).toEqual(['20261124T1200', '20261123T2345', '20261122T2345']);
    expect(kept(backups, '3w')).toEqual(['20261124T1200', '20261122T2345', '20261115T2345']);
    expect(kept(backups, '24h,7d,4w')).toHaveLength(24 + 7 + 4 - 2 - 2);
  });

  it('has equal results whether it runs after each backup or once', () => {
    const all = every(HOUR, 24 * 50, '2026-11-24T12:00:00Z');
    const keep = parseKeep('24h,7d,4w');
    let stepwise: BackupFile[] = [];
    for (const backup of [...all].reverse()) {
      stepwise = [backup, ...stepwise];
      const superseded = supersededBackups(stepwise, keep, backup.time);
      stepwise = stepwise.filter((each) => !superseded.includes(each));
    }
    expect(stepwise.map(({ name }) => name.slice(8, 21))).toEqual(kept(all, '24h,7d,4w'));
  });

  it('does not count an hour without a backup, so that a long pause removes nothing', () => {
    const backups = [at('2026-11-24T12:00:00Z'), ...every(HOUR, 23, '2024-02-29T23:59:59Z')];
    expect(kept(backups, '24h')).toHaveLength(24);
  });

  it('never removes the newest backup, and neither counts nor removes a future one', () => {
    expect(kept([at('2020-01-01T00:00:00Z')], '1h')).toEqual(['20200101T0000']);
    const future = every(HOUR, 3, '2030-01-01T00:00:00Z');
    expect(kept([...future, ...every(HOUR, 3, '2026-11-24T12:00:00Z')], '2h')).toEqual([
      ...future.map(({ name }) => name.slice(8, 21)),
      '20261124T1200',
      '20261124T1100',
    ]);
  });

  it('keeps both backups of the hour that is repeated in autumn, and no hour twice', () => {
    const backups = ['2026-10-25T01:30:00Z', '2026-10-25T00:30:00Z', '2026-10-25T00:10:00Z'].map(at);
    expect(kept(backups, '24h')).toEqual(['20261025T0130', '20261025T0030']);
  });
});

describe('parseKeep', () => {
  it.each(['', '24', '24h,', '0h', '24h 7d', '1h,2h', '-1h', '1.5d', '4m', '10000h', '24H'])('rejects "%s"', (text) => {
    expect(() => parseKeep(text)).toThrow('It must be one or more numbers of hours, days or weeks, such as 24h,7d,4w');
  });
});
