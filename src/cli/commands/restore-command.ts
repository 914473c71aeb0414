import { Command } from 'commander';
import { SERVICE_NAME } from '../../config/service-name.js';
import { examples } from './examples.js';

export function restoreCommand(interrupt: AbortSignal): Command {
  return new Command('restore')
    .description('put a backup in the place of the SQLite database; the service must be stopped')
    .argument('<file>', 'the backup; it stays as it is')
    .option(
      '--skip-record-check',
      'do not hold every record to the rules of its resource: faster, for a backup of your own',
    )
    .addHelpText(
      'after',
      `\n${NOTE}${examples(`restore /backups/${SERVICE_NAME}.sqlite`, `restore /dev/stdin < ${SERVICE_NAME}.sqlite`)}`,
    )
    .action(async (file: string, { skipRecordCheck }: { skipRecordCheck?: true }) => {
      const { restore } = await import('../backup/restore.js');
      await restore(file, { recordCheck: !skipRecordCheck }, interrupt);
    });
}

const NOTE = `Rejects a file that is damaged, comes from a newer version, has another schema than its migrations make, counts other records
than it holds, or holds one that no request could have stored. The database that
is replaced stays beside the new one, in place of the one that an earlier restore kept. Until the last step, which is
one rename, the storage is as it was.
`;
