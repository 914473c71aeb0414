import { Command, Option } from 'commander';
import { RESOURCES } from '../../features.js';
import { parseNatural } from '../../http/validation/parse-natural.js';
import type { Resource } from '../../resource/resource.js';
import { UsageError } from '../command-errors.js';
import { isOnly, resourceNamed } from '../resources/resources.js';
import { examples } from './examples.js';
import { recordsOf, resourceArgument } from './resource-argument.js';

export function exportCommand(interrupt: AbortSignal): Command {
  const command = new Command('export')
    .description(`write ${recordsOf()} as NDJSON, one JSON object a line, as they are at one moment`)
    .addArgument(resourceArgument())
    .option(
      '-o, --output <file>',
      'write to a file, which appears only when it is whole, or into a device or FIFO (default: stdout)',
    );
  const own = [...command.options.map((option) => option.attributeName()), 'after', 'limit', 'help', 'version'];
  const filters = filterOptions().filter((option) => !own.includes(option.attributeName()));
  for (const option of filters) command.addOption(option);
  return command
    .option('--after <id>', `only ${records()} after the one with this id`, natural('--after', 0))
    .option('--limit <count>', 'at most so many', natural('--limit', 1))
    .addHelpText('after', `\n${note()}${examples(...exampleCalls())}`)
    .action(async (name: string | undefined, { output, after, limit, ...others }: Options) => {
      const resource = resourceNamed(name, 'export');
      const selected = filtersOf(resource, filters, others);
      const { exportRecords } = await import('../export/export.js');
      await exportRecords(resource, { output, after, limit, filters: selected }, interrupt);
    });
}

interface Options {
  readonly output?: string;
  readonly after?: number;
  readonly limit?: number;
  readonly [filter: string]: unknown;
}

/** Describes the output: of the only resource, or of any. */
const records = (): string => (isOnly ? RESOURCES[0]!.name.pluralText : 'records');

const note =
  (): string => `The last line on stderr has the count and a SHA-256 of the ${records()}' lines: equal storages give equal ones.
Where the newest ${records()} have been deleted, an export of all ends with {"lastId":<id>}: import then never gives an id
again that was given before.
While a reader of stdout stalls, SQLite keeps what the service writes meanwhile in its WAL; prefer --output.
`;

function exampleCalls(): string[] {
  return RESOURCES.flatMap(({ name: { plural }, filters = {} }) => {
    const call = isOnly ? 'export' : `export ${plural}`;
    const [property, values] = Object.entries(filters)[0] ?? [];
    const whole = `${call} --output ${plural}.ndjson`;
    if (property === undefined) return [whole];
    const choice = values!.slice(-2).map((value) => `${flagOf(property)} ${value}`);
    return [whole, `${call} ${choice.join(' ')} | gzip > some.ndjson.gz`];
  });
}

/** `--gift-kind` for `giftKind`. */
const flagOf = (property: string): string =>
  `--${property.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** An option for every filter of any resource. */
function filterOptions(): Option[] {
  const properties = new Set(RESOURCES.flatMap(({ filters = {} }) => Object.keys(filters)));
  return [...properties].map((property) => {
    const choices = RESOURCES.flatMap(({ name, filters }) => {
      const values = filters?.[property];
      return values === undefined ? [] : [`${isOnly ? 'choices' : name.plural}: ${values.join(', ')}`];
    });
    const flags = `${flagOf(property)} <${property}>`;
    const about = `only this ${property}; repeat it for "or" (${choices.join('; ')})`;
    return new Option(flags, about).argParser((value: string, earlier: string[] = []) => [...earlier, value]);
  });
}

/**
 * Reads the filters from the options.
 * @throws {UsageError} for one that the resource has not, or a value that its property cannot have
 */
function filtersOf(
  { name, filters = {} }: Resource,
  options: readonly Option[],
  given: Readonly<Record<string, unknown>>,
): Record<string, readonly string[]> {
  const selected: Record<string, readonly string[]> = {};
  for (const option of options) {
    const values = given[option.attributeName()] as readonly string[] | undefined;
    if (values === undefined) continue;
    const property = Object.keys(filters).find((each) => flagOf(each) === option.long);
    if (property === undefined) throw new UsageError(`${name.pluralText} have no ${option.long}: leave it out`);
    requireChoices(option.long!, values, filters[property]!);
    selected[property] = values;
  }
  return selected;
}

function requireChoices(flag: string, values: readonly string[], choices: readonly string[]): void {
  values.forEach((value, index) => {
    if (!choices.includes(value)) {
      throw new UsageError(`${flag} must be one of ${choices.join(', ')}; it is "${value}"`);
    }
    if (values.indexOf(value) < index) throw new UsageError(`${flag} names "${value}" twice`);
  });
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
