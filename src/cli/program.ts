import { Command } from 'commander';
import { serviceVersion } from '../config/service-version.js';
import { backupCommand } from './backup.js';
import { doctorCommand } from './doctor.js';
import { exportCommand } from './export.js';
import { importCommand } from './import.js';
import { migrateCommand } from './migrate.js';
import { restoreCommand } from './restore.js';
import { tokenCommand } from './token.js';

/**
 * The command line. Every command reads the service's own settings, from the environment or in development from `.env`.
 * @param interrupt aborted when the command shall stop
 */
export function program(interrupt: AbortSignal): Command {
  const cli = new Command('cli')
    .description('Works on the storage that the settings of the service name (DATABASE_URL, COOKIES_CAPACITY, ...).')
    .showHelpAfterError('(add --help for what there is)')
    .version(serviceVersion(), '-V, --version', 'print the version of the service')
    .exitOverride()
    .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted with Ctrl+C.');
  const commands = [
    exportCommand(interrupt),
    importCommand(interrupt),
    backupCommand(interrupt),
    restoreCommand(interrupt),
    migrateCommand(),
    doctorCommand(),
    tokenCommand(),
  ];
  for (const command of commands) {
    command.version(serviceVersion(), '-V, --version', 'print the version of the service');
    cli.addCommand(command.copyInheritedSettings(cli));
  }
  return cli;
}
