import { type Command, Option } from 'commander';
import { CLI } from '../../config/program-names.js';
import { RESOURCES } from '../../features.js';
import type { ImportOptions } from '../import/import-input.js';
import { NAMES, resourceNamed } from '../resources/resources.js';

export function addImportCommand(cli: Command, interrupt: AbortSignal): void {
  cli
    .command('import')
    .description('store the records of an NDJSON file (or .gz), or of stdin; the rules of POST hold for every line')
    .usage('<resource> [file] [options]')
    .argument('[resource]', `one of ${NAMES.join(', ')}`)
    .argument('[file]', 'the file to read (default: stdin)')
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
    .option('--forget', 'start again after an interrupted import; its stored records stay')
    .addHelpText('after', () => `\n${note()}Examples:\n${examples()}`)
    .action(async (name: string | undefined, file: string | undefined, options: ImportOptions) => {
      const resource = resourceNamed(name, 'import', file ?? name);
      const { importRecords } = await import('../import/import.js');
      await importRecords(resource, file, options, interrupt);
    });
}

const note =
  (): string => `A file is checked as a whole before anything is stored; stdin is checked as it arrives. Lines are stored in
batches, and each saves the progress: an interrupted import goes on with --resume and the same input, and no line is
lost or stored twice. The service may run meanwhile. No more records are stored than ${capacities()} allows.
Import a resource before those that refer to it: ${NAMES.join(', ')}.
`;

const capacities = (): string => RESOURCES.map(({ capacity }) => capacity.name).join(' or ');

function examples(): string {
  const call = `  ${CLI} import ${NAMES[0]}`;
  const file = `${NAMES[0]}.ndjson`;
  return [`${file} --dry-run`, file, `${file} --resume`, `${file}.gz`, `--ids assign < ${file}`]
    .map((rest) => `${call} ${rest}`)
    .join('\n');
}
