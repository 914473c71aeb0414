import { CLI } from '../../config/program-names.js';
import { knownMigrations } from '../../database/schema/schema-version.js';
import type { ExpectedContents } from '../../database/sqlite/file/file-check.js';
import { RESOURCES } from '../../features.js';
import type { Resource } from '../../resource/resource.js';
import { UsageError } from '../errors.js';

/** The names of all resources; one stands behind those that it refers to. */
export const NAMES: readonly string[] = RESOURCES.map(({ name }) => name.plural);

/** Whether there is but one resource, which then need not be named. */
export const isOnly = RESOURCES.length === 1;

/** How a command names the resource in what it proposes to call: nothing where there is no other. */
export const argumentOf = ({ name }: Resource): string => (isOnly ? '' : `${name.plural} `);

export const findResource = (name: string): Resource | undefined => RESOURCES.find((each) => each.name.plural === name);

/**
 * The resource that a command names, or the only one there is.
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

/** What a database has, with the migrations and the resources of this code. */
export async function expectedContents(): Promise<ExpectedContents> {
  return { migrations: await knownMigrations(), resources: NAMES };
}

/** How many records of each resource, for a sentence: `3 jars and 2 lids`. */
export function countedRecords(counts: ReadonlyMap<string, number>): string {
  const parts = RESOURCES.map(({ name }) => name.counted(counts.get(name.plural) ?? 0));
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter((part) => part !== '').join(' and ');
}
