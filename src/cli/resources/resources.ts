import { CLI } from '../../config/program-names.js';
import { RESOURCES } from '../../features.js';
import type { Resource } from '../../resource/resource.js';
import { UsageError } from '../command-errors.js';

/** The names of all resources; referenced resources come first. */
export const NAMES: readonly string[] = RESOURCES.map(({ name }) => name.plural);

/**
 * Finds the resource of a command.
 * @param command for the example in the message, in which `rest` follows the name
 * @throws {UsageError} which lists the names
 */
export function resourceNamed(name: string | undefined, command: string, rest = ''): Resource {
  const found = RESOURCES.find((each) => each.name.plural === name);
  if (found !== undefined) return found;
  const isMissing = name === undefined || name.startsWith('-');
  const problem = isMissing ? 'Name the resource first:' : `There is no resource "${name}"; there are`;
  const example = `${CLI} ${command} ${NAMES[0]} ${rest}`.trimEnd();
  throw new UsageError(`${problem} ${NAMES.join(', ')}. For example: ${example}`);
}

/** The numbers of records in a message: `3 jars and 2 lids`. */
export function countedRecords(counts: ReadonlyMap<string, number>): string {
  const parts = RESOURCES.map(({ name }) => name.counted(counts.get(name.plural) ?? 0));
  return new Intl.ListFormat('en-GB').format(parts);
}

/** The largest id that an import or a restored backup may bring, so that enough ids are left for new records. */
export const LARGEST_ID = Number.MAX_SAFE_INTEGER - 1e12;
