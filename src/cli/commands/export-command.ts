import { type Command, InvalidArgumentError, Option } from 'commander';
import { CLI } from '../../config/program-names.js';
import { RESOURCES } from '../../features.js';
import { parseNatural } from '../../http/validation/query-values.js';
import type { Id } from '../../resource/id-kinds.js';
import type { Resource, ResourceName } from '../../resource/resource.js';
import type { ExportOptions } from '../export.js';
import { NAMES } from '../resources/resources.js';

export const OUTPUT = [
  '-o, --output <file>',
  'write to a file, which appears only when it is complete (default: stdout); .gz is packed with gzip',
] as const;

/** Adds `export`, with a command for each resource, whose options are the filters of the resource. */
export function addExportCommand(cli: Command, interrupt: () => AbortSignal): void {
  const command = cli
    .command('export')
    .description('write the records of a resource as NDJSON, one JSON object a line, as they are at one moment')
    .addHelpText('after', NOTE)
    .showHelpAfterError(`Name the resource first: ${NAMES.join(', ')}. For example: ${CLI} export ${NAMES[0]}`);
  for (const resource of RESOURCES) addCommandOf(resource, command, interrupt);
}

const NOTE = `
The last line on stderr has the count and a SHA-256 of the records' lines, which are equal for equal storages.
If the newest records have been deleted, an export of all ends with {"lastId":<id>}. Then import never assigns an id
again that was used before.
While a reader of stdout stalls, the WAL of SQLite grows with the writes of the service; prefer --output.

Examples:
${RESOURCES.map(({ name: { plural } }) => `  ${CLI} export ${plural} --output ${plural}.ndjson`).join('\n')}`;

function addCommandOf(resource: Resource, parent: Command, interrupt: () => AbortSignal): void {
  const { name, filters = {} } = resource;
  const command = parent
    .command(name.plural)
    .description(`write ${name.pluralText}`)
    .option(...OUTPUT)
    .showHelpAfterError(`See: ${CLI} export ${name.plural} --help`)
    .option('--after <id>', `only ${name.pluralText} after the one with this id`, idOf(name))
    .option('--limit <count>', `maximum number of ${name.pluralText}`, parseCount);
  const own = new Set([...command.options.map(({ long }) => long), '--help']);
  for (const [property, values] of Object.entries(filters)) {
    if (own.has(flagOf(property))) continue;
    const about = `only this ${property}; repeat it for "or"`;
    command.addOption(new Option(`${flagOf(property)} <${property}...>`, about).choices(values));
  }
  command.action(async ({ output, after, limit, ...filters }: Omit<ExportOptions, 'filters'>) =>
    (await import('../export.js')).exportRecords(resource, { output, after, limit, filters }, interrupt),
  );
}

/** `--gift-kind` for `giftKind`; commander converts it back. */
const flagOf = (property: string): string =>
  `--${property.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function idOf({ ids }: ResourceName) {
  return (text: string): Id => {
    const id = text === '0' ? ids.lowest : ids.parse(text);
    if (id !== undefined) return id;
    throw new InvalidArgumentError(`It ${ids.message}, or 0.`);
  };
}

function parseCount(text: string): number {
  const count = parseNatural(text);
  if (count !== undefined && count > 0) return count;
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}
