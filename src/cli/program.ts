import { Command } from 'commander';
import { SETTINGS } from '../features.js';
import { serviceVersion } from '../config/service-version.js';
import { backupCommand } from './commands/backup-command.js';
import { doctorCommand } from './commands/doctor-command.js';
import { exportCommand } from './commands/export-command.js';
import { importCommand } from './commands/import-command.js';
import { migrateCommand } from './commands/migrate-command.js';
import { restoreCommand } from './commands/restore-command.js';
import { tokenCommand } from './commands/token-command.js';

/**
 * The command line. Each command imports its code when it runs, so that `--help` does not load the data layer. All commands read
 * the settings of the service, from the environment or, in development, from `.env`.
 * @param interrupt aborted when the command shall stop
 */
export function program(interrupt: AbortSignal): Command {
  const cli = new Command('cli')
    .description(
      `Works on the storage that the settings of the service name (DATABASE_URL, ${SETTINGS[0]?.name ?? 'LOG_LEVEL'}, ...).`,
    )
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
