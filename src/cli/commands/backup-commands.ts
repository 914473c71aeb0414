import { type Command, InvalidArgumentError } from 'commander';
import { CLI } from '../../config/program-names.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import type { FolderOptions } from '../backup/backup-folder.js';
import type { RestoreOptions } from '../backup/restore.js';
import { parseKeep } from '../backup/retention.js';
import { UsageError } from '../command-errors.js';
import { seconds } from './duration.js';

const SKIP = ['--skip-record-check', 'do not validate every record: faster, for a backup of your own'] as const;

const BACKUP_NOTE = `
--to names each backup by its time in UTC, after a trial restore. --keep removes only backups that --to has named. With
--every, a failure is a line on stderr, and the next backup is made at the next time; the exit code is that of the last
backup.

Examples:
  ${CLI} backup /backups/${SERVICE_NAME}.sqlite
  ${CLI} backup --to /backups --keep 24h,7d,4w
  ${CLI} backup --to /backups --keep 24h,7d,4w --every 1h --gzip`;

const RESTORE_NOTE = `
Rejects a file that is damaged or of a newer version, whose schema is not that of its migrations, whose counters are wrong,
or that has a record which no request could have stored. The old database stays beside the new one. Until the last step,
which is one rename, the storage is as it was.
--verify restores into a temporary folder (TMPDIR), which needs space for a copy. The service may run meanwhile.

Examples:
  ${CLI} restore /backups/${SERVICE_NAME}.sqlite
  ${CLI} restore - < ${SERVICE_NAME}.sqlite
  ${CLI} restore --verify /backups/${SERVICE_NAME}.sqlite`;

export function addBackupCommands(cli: Command, interrupt: () => AbortSignal): void {
  cli
    .command('backup')
    .description('copy the SQLite database, as it is at one moment, into one file, while the service runs')
    .usage('[options] <file> | --to <folder>')
    .argument(
      '[file]',
      'the target, which is replaced when the copy is complete and checked; "-" is stdout; .gz is packed with gzip',
    )
    .option('--to <folder>', 'make a new file in this folder, preferably on another disk')
    .option(
      '--every <time>',
      'with --to: make a backup at this interval until Ctrl+C or SIGTERM: 30m, 1h, at most 24d',
      interval,
    )
    .option(
      '--keep <numbers>',
      'with --to: keep the newest backup of each of the last hours, days and weeks',
      parseKeep,
    )
    .option('--gzip', 'with --to: pack the backup with gzip')
    .option(SKIP[0], `with --to: ${SKIP[1]}`)
    .addHelpText('after', BACKUP_NOTE)
    .action(async (file: string | undefined, options: Partial<FolderOptions>) => {
      const { to } = options;
      if (file === undefined && to === undefined) throw new UsageError('Name the file to write, or a folder with --to');
      if (file === undefined) {
        return (await import('../backup/backup-folder.js')).backupInto({ ...options, to: to! }, interrupt());
      }
      if (Object.keys(options).length > 0) {
        throw new UsageError(
          `Name the file ${file}, or a folder with --to and its options. A file whose name ends in .gz is packed.`,
        );
      }
      return (await import('../backup/backup.js')).backup(file, interrupt());
    });
  cli
    .command('restore')
    .description('replace the SQLite database by a backup; the service must be stopped')
    .argument('<file>', 'the backup, plain or packed with gzip, which stays as it is; "-" is stdin')
    .option('--verify', 'only check whether it can be restored, and change nothing')
    .option(...SKIP)
    .addHelpText('after', RESTORE_NOTE)
    .action(async (file: string, options: RestoreOptions) =>
      (await import('../backup/restore.js')).restore(file, options, interrupt()),
    );
}

/** Parses a duration of at most 24 days, the longest timer of Node. */
function interval(text: string): number {
  const every = seconds(text);
  if (every <= 24 * 86_400) return every;
  throw new InvalidArgumentError('It must be at most 24d.');
}
