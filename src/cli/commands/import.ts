import { Command, Option } from 'commander';
import { examples } from './examples.js';
import type { ImportOptions } from '../import.js';

export function importCommand(interrupt: AbortSignal): Command {
  return new Command('import')
    .description(
      'store the cookies of an NDJSON file (or .gz), or of stdin; every line must be valid as a POST would be',
    )
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
    .option('--forget', 'begin anew though an import was interrupted; what that one has stored stays')
    .addHelpText('after', `\n${NOTE}${examples(...EXAMPLES)}`)
    .action(async (file: string | undefined, options: ImportOptions) => {
      const { importCookies } = await import('../import.js');
      await importCookies(file, options, interrupt);
    });
}

const NOTE = `A file is checked as a whole before anything is stored; stdin is checked as it comes. Lines are stored in batches, and
each notes how far it has got: what is interrupted goes on with --resume and the same input, nothing lost, nothing
twice. The service may serve meanwhile. Never more than COOKIES_CAPACITY cookies are stored.
`;
const EXAMPLES = [
  'import cookies.ndjson --dry-run',
  'import cookies.ndjson',
  'import cookies.ndjson --resume',
  'import cookies.ndjson.gz',
  'import --ids assign < cookies.ndjson',
];
