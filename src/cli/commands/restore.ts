import { Command } from 'commander';
import { SERVICE_NAME } from '../../config/service-name.js';
import { examples } from './examples.js';

export function restoreCommand(interrupt: AbortSignal): Command {
  return new Command('restore')
    .description('put a backup in the place of the SQLite database; the service must be stopped')
    .argument('<file>', 'the backup; it stays as it is')
    .addHelpText(
      'after',
      `\n${NOTE}${examples(`restore /backups/${SERVICE_NAME}.sqlite`, `restore /dev/stdin < ${SERVICE_NAME}.sqlite`)}`,
    )
    .action(async (file: string) => {
      const { restore } = await import('../backup/restore.js');
      await restore(file, interrupt);
    });
}

const NOTE = `Rejects a file that is damaged, comes from a newer version, or counts other records than it holds. The database that
is replaced stays beside the new one, in place of the one that an earlier restore kept. Until the last step, which is
one rename, the storage is as it was.
`;
