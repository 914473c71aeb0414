import type { Command } from 'commander';
import { CLI } from '../../config/program-names.js';

const NOTE = `
The trail has the resources that are declared with "audited: true". verify fails, and names the first wrong line, if a line
was changed, removed, added or moved. Keep its output elsewhere: a user who may change the database may also write a new
trail with other hashes.

Examples:
  ${CLI} audit verify
  ${CLI} audit export --output audit.ndjson`;

export function addAuditCommand(cli: Command, interrupt: AbortSignal): void {
  const command = cli.command('audit').description('verify or export the audit trail').addHelpText('after', NOTE);
  command
    .command('verify')
    .description('check every line against its hash and the line before; a line of output for each resource')
    .action(async () => (await import('../audit.js')).verifyAudit(interrupt));
  command
    .command('export')
    .description('write the lines as NDJSON, as they are at one moment')
    .argument('[resource]', 'only the lines of this resource')
    .option(
      '-o, --output <file>',
      'write to a file, which appears only when it is complete (default: stdout); .gz is packed with gzip',
    )
    .action(async (resource: string | undefined, { output }: { output?: string }) =>
      (await import('../audit.js')).exportAudit(resource, output, interrupt),
    );
}
