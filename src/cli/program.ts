import { Command } from 'commander';
import { CLI } from '../config/program-names.js';
import { serviceVersion } from '../config/service-version.js';
import { RESOURCES, SETTINGS } from '../features.js';
import { addAuditCommand } from './commands/audit-command.js';
import { addBackupCommand, addRestoreCommand, seconds } from './commands/backup-commands.js';
import { addExportCommand } from './commands/export-command.js';
import { addImportCommand } from './commands/import-command.js';
import { NAMES } from './resources/resources.js';
import type { RevokeOptions } from './revoke.js';
import type { SetOptions } from './set.js';
import type { TokenOptions } from './token.js';

/**
 * The command line. Each command imports its code when it runs, so that `--help` does not load the data layer. All
 * commands read the settings of the service from the environment and, in development, from `.env`.
 * @param interrupt aborted when the command shall stop
 */
export function program(interrupt: AbortSignal): Command {
  const cli = new Command('cli')
    .description(
      `Works on the storage in the settings of the service (DATABASE_URL, ${SETTINGS[0]?.name ?? 'LOG_LEVEL'}, ...).`,
    )
    .showHelpAfterError('(add --help for the commands and options)')
    .exitOverride()
    .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted with Ctrl+C.');
  addExportCommand(cli, interrupt);
  addImportCommand(cli, interrupt);
  addBackupCommand(cli, interrupt);
  addRestoreCommand(cli, interrupt);
  addMigrateCommand(cli);
  addDoctorCommand(cli);
  addTokenCommand(cli);
  addRevokeCommand(cli);
  addSetCommand(cli);
  addAuditCommand(cli, interrupt);
  for (const command of [cli, ...cli.commands]) {
    command.version(serviceVersion(), '-V, --version', 'print the version of the service');
  }
  return cli;
}

/** The examples at the end of a command's help. */
const examples = (...calls: string[]): string => `\nExamples:\n${calls.map((call) => `  ${CLI} ${call}`).join('\n')}`;

function addMigrateCommand(cli: Command): void {
  const variables = RESOURCES.map(({ capacity }) => capacity.name).join(' or ');
  cli
    .command('migrate')
    .description(
      'run the pending migrations, as the start does unless MIGRATE_ON_START is false; logs as the service does',
    )
    .option('--check-capacity', `change nothing, and fail, if more is stored than ${variables} allows`)
    .addHelpText('after', examples('migrate'))
    .action(async (options: { checkCapacity?: true }) => (await import('./migrate.js')).runMigrations(options));
}

function addDoctorCommand(cli: Command): void {
  cli
    .command('doctor')
    .description('check settings, volume, database, clock, keys and certificate: a line for each, with what to do')
    .option('--fix', 'first correct every counter that differs from the number of records')
    .addHelpText('after', examples('doctor', 'doctor --fix'))
    .action(async (options: { fix?: true }) => (await import('./doctor/doctor.js')).doctor(options));
}

function addTokenCommand(cli: Command): void {
  const scopes = NAMES.flatMap((name) => [`${name}:read`, `${name}:write`]).join(' ');
  cli
    .command('token')
    .description('print a token signed with the configured secret (HS256)')
    .requiredOption('--sub <who>', 'the subject of the token')
    .option('--scope <scopes>', 'the scopes of the token, separated by spaces', scopes)
    .option('--expires <time>', 'the lifetime of the token: 30s, 15m, 1h, 7d', seconds, 3600)
    .addHelpText(
      'after',
      examples('token --sub alice', `token --sub bob --scope "${NAMES[0] ?? 'orders'}:read" --expires 7d`),
    )
    .action(async (options: TokenOptions) => (await import('./token.js')).printToken(options));
}

function addRevokeCommand(cli: Command): void {
  cli
    .command('revoke')
    .description('reject one token, or all tokens of a subject that were issued until now')
    .option('--jti <id>', 'the claim jti of the token')
    .option('--sub <who>', 'the claim sub of the tokens')
    .option('--issuer <iss>', 'only tokens with this claim iss; default: of any issuer')
    .addHelpText('after', examples('revoke --sub alice', 'revoke --jti 0b7c2f1e --issuer https://login.example.com/'))
    .action(async (options: RevokeOptions) => (await import('./revoke.js')).revokeTokens(options));
}

function addSetCommand(cli: Command): void {
  cli
    .command('set')
    .description(
      'change settings while the service runs, in all its processes and replicas within 5 s; the database keeps them, so ' +
        'they count after a restart, too, instead of the environment',
    )
    .argument('[NAME=VALUE...]', 'the settings with their new values')
    .option('--unset <names...>', 'settings that get their value from the environment again')
    .option('--list', 'print the settings that can be set, with their values in force')
    .addHelpText('after', examples('set MAINTENANCE=true', 'set --unset MAINTENANCE', 'set --list'))
    .action(async (assignments: string[], options: SetOptions) =>
      (await import('./set.js')).setSettings(assignments, options),
    );
}
