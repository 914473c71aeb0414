import { Argument, Command, Option } from 'commander';
import { CLI } from '../config/program-names.js';
import { serviceVersion } from '../config/service-version.js';
import { RESOURCES, SETTINGS } from '../features.js';
import { UsageError } from './command-errors.js';
import { addBackupCommands } from './commands/backup-commands.js';
import { seconds } from './commands/duration.js';
import { addExportCommand, OUTPUT } from './commands/export-command.js';
import type { ImportOptions } from './import/import-input.js';
import { NAMES } from './resources/resources.js';
import type { RevokeOptions } from './revoke.js';
import type { SetOptions } from './set.js';
import type { TokenOptions } from './token.js';

/**
 * The command line. Each command imports its code when it runs, so that `--help` does not load the data layer. All
 * commands read the settings of the service from the environment and, in development, from `.env`.
 * @param interrupt gives the signal that Ctrl+C, SIGTERM and SIGHUP abort; before its first call they end the process
 */
export function program(interrupt: () => AbortSignal): Command {
  const cli = new Command('cli')
    .description(
      `Works on the storage in the settings of the service (DATABASE_URL, ${SETTINGS[0]?.name ?? 'LOG_LEVEL'}, ...).`,
    )
    .showHelpAfterError('(add --help for the commands and options)')
    .exitOverride()
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl+C, 143 by SIGTERM, 129 by a closed terminal.',
    );
  addExportCommand(cli, interrupt);
  addImportCommand(cli, interrupt);
  addBackupCommands(cli, interrupt);
  addDatabaseCommands(cli);
  addTokenCommands(cli);
  addSetCommand(cli);
  addAuditCommand(cli, interrupt);
  cli.hook('preAction', (_cli, command) => rejectEmptyArguments(command));
  for (const command of [cli, ...cli.commands]) {
    command.version(serviceVersion(), '-V, --version', 'print the version of the service');
  }
  return cli;
}

/** A shell passes a quoted variable that is not set as an empty argument. An empty `--scope` is a token without scopes. */
function rejectEmptyArguments(command: Command): void {
  const isEmpty = (option: Option) => [command.getOptionValue(option.attributeName())].flat().includes('');
  const option = command.options.find((each) => each.long !== '--scope' && isEmpty(each));
  const argument = command.registeredArguments[command.args.indexOf('')];
  const name = option?.long ?? argument?.name();
  if (name !== undefined) throw new UsageError(`${name} is empty: give it a value`);
}

const CAPACITIES = RESOURCES.map(({ capacity }) => capacity.name).join(' or ');

const examples = (...calls: string[]): string => `\nExamples:\n${calls.map((call) => `  ${CLI} ${call}`).join('\n')}`;

function addDatabaseCommands(cli: Command): void {
  cli
    .command('migrate')
    .description(
      'run the pending migrations, as the start does unless MIGRATE_ON_START is false; logs as the service does',
    )
    .option('--check-capacity', `change nothing, and fail, if more is stored than ${CAPACITIES} allows`)
    .addHelpText('after', examples('migrate'))
    .action(async (options: { checkCapacity?: true }) => (await import('./migrate.js')).runMigrations(options));
  cli
    .command('doctor')
    .description('check settings, volume, database, clock, keys and certificate: a line for each, with what to do')
    .option('--fix', 'first correct every counter that differs from the number of records')
    .addHelpText('after', examples('doctor', 'doctor --fix'))
    .action(async (options: { fix?: true }) => (await import('./doctor/doctor.js')).doctor(options));
}

function addTokenCommands(cli: Command): void {
  const scopes = NAMES.flatMap((name) => [`${name}:read`, `${name}:write`]).join(' ');
  cli
    .command('token')
    .description('print a token signed with the configured secret (HS256)')
    .requiredOption('--sub <who>', 'the subject of the token')
    .option('--scope <scopes>', 'the scopes of the token, separated by spaces', scopes)
    .addOption(
      new Option('--expires <time>', 'the lifetime of the token: 30s, 15m, 1h, 7d')
        .argParser(seconds)
        .default(3600, '1h'),
    )
    .addHelpText(
      'after',
      examples('token --sub alice', `token --sub bob --scope "${NAMES[0] ?? 'orders'}:read" --expires 7d`),
    )
    .action(async (options: TokenOptions) => (await import('./token.js')).printToken(options));
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
        'they override the environment after a restart, too',
    )
    .argument('[NAME=VALUE...]', 'the settings with their new values')
    .option('--unset <names...>', 'settings that get their value from the environment again')
    .option('--list', 'print the settings that can be set, with their values in force')
    .addHelpText('after', examples('set MAINTENANCE=true', 'set --unset MAINTENANCE', 'set --list'))
    .action(async (assignments: string[], options: SetOptions) =>
      (await import('./set.js')).setSettings(assignments, options),
    );
}

function addImportCommand(cli: Command, interrupt: () => AbortSignal): void {
  const file = `${NAMES[0]}.ndjson`;
  const calls = [`${file} --dry-run`, file, `${file} --resume`, `${file}.gz`, `--ids assign < ${file}`];
  const note = `
All lines of a file are checked before the first is stored. Only the database checks unique values, references and
rules: such an error ends the import at its line. Lines are stored in batches, and each saves the progress: an import
that has ended early continues with --resume and the same input, and no line is lost or stored twice. The service may
run meanwhile. No more records are stored than ${CAPACITIES} allows.
Import a resource before those that refer to it: ${NAMES.join(', ')}.`;
  cli
    .command('import')
    .description('store the records of an NDJSON file (or .gz), or of stdin; the rules of POST hold for every line')
    .addArgument(new Argument('<resource>', 'the resource of the records').choices(NAMES))
    .argument('[file]', 'the file to read; "-" is stdin, the default')
    .addOption(
      new Option(
        '--ids <how>',
        'keep the ids, or assign new ones (default: keep those of lines that have them)',
      ).choices(['keep', 'assign']),
    )
    .option(
      '--dry-run',
      'check everything and store nothing: on SQLite in a copy of the database (in TMPDIR), on PostgreSQL as --atomic, with ' +
        'everything undone at the end; ids may be skipped there',
    )
    .addOption(
      new Option('--atomic', 'store all or nothing, in one transaction; the service cannot write meanwhile').conflicts(
        'resume',
      ),
    )
    .addOption(new Option('--resume', 'go on with the import that was interrupted').conflicts(['forget', 'dryRun']))
    .option('--forget', 'start again after an interrupted import; its stored records stay')
    .addHelpText('after', note + examples(...calls.map((call) => `import ${NAMES[0]} ${call}`)))
    .showHelpAfterError(`For example: ${CLI} import ${NAMES[0]} ${file}`)
    .action(async (plural: string, file: string | undefined, options: ImportOptions) => {
      const resource = RESOURCES.find(({ name }) => name.plural === plural)!;
      await (await import('./import/import.js')).importRecords(resource, file, options, interrupt);
    });
}

const AUDIT_NOTE = `
The trail has the resources that are declared with "audited: true". verify fails, and names the first wrong line, if a line
was changed, removed, added or moved. Keep its output elsewhere: a user who may change the database may also write a new
trail with other hashes.
`;

function addAuditCommand(cli: Command, interrupt: () => AbortSignal): void {
  const command = cli
    .command('audit')
    .description('verify or export the audit trail')
    .addHelpText('after', AUDIT_NOTE + examples('audit verify', 'audit export --output audit.ndjson'));
  command
    .command('verify')
    .description('check every line against its hash and the line before; a line of output for each resource')
    .action(async () => (await import('./audit.js')).verifyAudit());
  command
    .command('export')
    .description('write the lines as NDJSON, as they are at one moment')
    .argument('[resource]', 'only the lines of this resource')
    .option(...OUTPUT)
    .action(async (resource: string | undefined, { output }: { output?: string }) =>
      (await import('./audit.js')).exportAudit(resource, output, interrupt),
    );
}
