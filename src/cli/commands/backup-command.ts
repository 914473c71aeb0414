import { Command } from 'commander';
import { SERVICE_NAME } from '../../config/service-name.js';
import { examples } from './examples.js';

export function backupCommand(interrupt: AbortSignal): Command {
  return new Command('backup')
    .description('copy the SQLite database, as it is at one moment, into one file, while the service serves')
    .argument(
      '<file>',
      'where to; a file is replaced when the copy is whole and checked, a device or FIFO is written into',
    )
    .addHelpText('after', examples(`backup /backups/${SERVICE_NAME}.sqlite`))
    .action(async (file: string) => {
      const { backup } = await import('../backup/backup.js');
      await backup(file, interrupt);
    });
}
