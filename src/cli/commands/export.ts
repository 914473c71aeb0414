import { Command, Option } from 'commander';
import { FLAVORS, SIZES } from '../../cookies/cookie.values.js';
import { parseNatural } from '../../http/parse-natural.js';
import { UsageError } from '../errors.js';
import { examples } from './examples.js';
import type { ExportOptions } from '../export.js';

export function exportCommand(interrupt: AbortSignal): Command {
  return new Command('export')
    .description('write the cookies as NDJSON, one JSON object a line, as they are at one moment')
    .option(
      '-o, --output <file>',
      'write to a file, which appears only when it is whole, or into a device or FIFO (default: stdout)',
    )
    .addOption(repeatable('--flavor <flavor>', 'only this flavor; repeat it for "or"', FLAVORS))
    .addOption(repeatable('--size <size>', 'only this size; repeat it for "or"', SIZES))
    .option('--after <id>', 'only cookies after the one with this id', natural('--after', 0))
    .option('--limit <count>', 'at most so many', natural('--limit', 1))
    .addHelpText('after', `\n${NOTE}${examples(...EXAMPLES)}`)
    .action(async (options: ExportOptions) => {
      const { exportCookies } = await import('../export.js');
      await exportCookies(options, interrupt);
    });
}

const NOTE = `The last line on stderr has the count and a SHA-256 of the cookies' lines: equal storages give equal ones.
Where the newest cookies have been deleted, an export of all ends with {"lastId":<id>}: import then never gives an id
again that was given before.
While a reader of stdout stalls, SQLite keeps what the service writes meanwhile in its WAL; prefer --output.
`;
const EXAMPLES = [
  'export --output cookies.ndjson',
  'export --flavor vanilla --flavor cinnamon | gzip > some.ndjson.gz',
];

function repeatable(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, `${description} (choices: ${values.join(', ')})`).argParser(
    (value: string, earlier: string[] = []) => {
      const name = flags.split(' ')[0];
      if (!values.includes(value))
        throw new UsageError(`${name} must be one of ${values.join(', ')}; it is "${value}"`);
      if (earlier.includes(value)) throw new UsageError(`${name} names "${value}" twice`);
      return [...earlier, value];
    },
  );
}

function natural(name: string, least: number) {
  return (text: string): number => {
    const number = parseNatural(text);
    if (number === undefined || number < least) {
      throw new UsageError(`${name} must be a whole number from ${least} on; it is "${text}"`);
    }
    return number;
  };
}
