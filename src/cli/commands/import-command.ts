import { Command, Option } from 'commander';
import { RESOURCES } from '../../features.js';
import type { Resource } from '../../resource/resource.js';
import type { ImportOptions } from '../import/import-job.js';
import { findResource, isOnly, resourceNamed } from '../resources/resources.js';
import { examples } from './examples.js';
import { recordsOf, resourceArgument } from './resource-argument.js';

export function importCommand(interrupt: AbortSignal): Command {
  return new Command('import')
    .description(
      `store ${recordsOf()} ${isOnly ? 'of' : 'from'} an NDJSON file (or .gz), or of stdin; every line must be valid as a POST would be`,
    )
    .addArgument(resourceArgument())
    .argument('[file]', 'what to read (default: stdin)')
    .addOption(
      new Option(
        '--ids <how>',
        'keep the ids, or assign new ones (default: keep those of lines that have them)',
      ).choices(['keep', 'assign']),
    )
    .option('--dry-run', 'check everything and store nothing')
    .addOption(
      new Option('--atomic', 'store all or nothing, in one transaction; the service cannot write meanwhile').conflicts(
        'resume',
      ),
    )
    .addOption(new Option('--resume', 'go on with the import that was interrupted').conflicts(['forget', 'dryRun']))
    .option('--forget', 'start again though an import was interrupted; what that one has stored stays')
    .addHelpText('after', `\n${note()}${examples(...exampleCalls())}`)
    .action(async (first: string | undefined, second: string | undefined, options: ImportOptions) => {
      const { resource, file } = readArguments(first, second);
      const { importRecords } = await import('../import/import.js');
      await importRecords(resource, file, options, interrupt);
    });
}

/** A single argument is the file unless it is a resource. */
function readArguments(first?: string, second?: string): { resource: Resource; file?: string } {
  if (second !== undefined) return { resource: resourceNamed(first, 'import', ` ${second}`), file: second };
  const resource = first === undefined ? undefined : findResource(first);
  if (resource !== undefined) return { resource };
  return { resource: resourceNamed(undefined, 'import', first === undefined ? '' : ` ${first}`), file: first };
}

const note =
  (): string => `A file is checked as a whole before anything is stored; stdin is checked as it comes. Lines are stored in batches, and
each notes how far it has got: what is interrupted goes on with --resume and the same input, nothing lost, nothing
twice. The service may serve meanwhile. Never more than ${capacities()} are stored.
${isOnly ? '' : `Import a resource before those that refer to it: ${RESOURCES.map(({ name }) => name.plural).join(', ')}.\n`}`;

const capacities = (): string =>
  RESOURCES.map(({ name, capacity }) => `${capacity.name} ${name.pluralText}`).join(' and ');

function exampleCalls(): string[] {
  const [first] = RESOURCES;
  if (first === undefined) return [];
  const { name } = first;
  const call = isOnly ? 'import' : `import ${name.plural}`;
  return [
    `${call} ${name.plural}.ndjson --dry-run`,
    `${call} ${name.plural}.ndjson`,
    `${call} ${name.plural}.ndjson --resume`,
    `${call} ${name.plural}.ndjson.gz`,
    `${call} --ids assign < ${name.plural}.ndjson`,
  ];
}
