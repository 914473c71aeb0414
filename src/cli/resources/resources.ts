import { CLI } from '../../config/program-names.js';
import type { ExpectedContents } from '../sqlite-file/file-check.js';
import { RESOURCES } from '../../features.js';
import type { Resource } from '../../resource/resource.js';
import { UsageError } from '../command-errors.js';

/** The names of all resources; a resource comes after those that it references. */
export const NAMES: readonly string[] = RESOURCES.map(({ name }) => name.plural);

/** Tells whether there is only one resource; then its name may be omitted. */
export const isOnly = RESOURCES.length === 1;

/** The resource argument in a proposed command; empty when there is only one resource. */
export const argumentOf = ({ name }: Resource): string => (isOnly ? '' : `${name.plural} `);

export const findResource = (name: string): Resource | undefined => RESOURCES.find((each) => each.name.plural === name);

/**
 * The resource of a command: the named one or the only one.
 * @param command with what comes behind the name, for the example
 * @throws {UsageError} which lists the names
 */
export function resourceNamed(name: string | undefined, command: string, rest = ''): Resource {
  const found = name === undefined && isOnly ? RESOURCES[0] : findResource(name ?? '');
  if (found !== undefined) return found;
  const problem = name === undefined ? 'Name the resource:' : `There is no resource "${name}"; there are`;
  const example = `${CLI} ${command} ${NAMES[0]}${rest}`;
  throw new UsageError(`${problem} ${NAMES.join(', ')}. For example: ${example}`);
}

/** The numbers of records of all resources of a database. */
export async function expectedContents(): Promise<ExpectedContents> {
  const { knownMigrations } = await import('../../database/data-source.js');
  return { migrations: await knownMigrations(), resources: NAMES };
}

/** The numbers of records in a message: `3 jars and 2 lids`. */
export function countedRecords(counts: ReadonlyMap<string, number>): string {
  const parts = RESOURCES.map(({ name }) => name.counted(counts.get(name.plural) ?? 0));
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter((part) => part !== '').join(' and ');
}
