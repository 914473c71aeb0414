import { RESOURCES } from '../../features.js';

/** The names of all resources; referenced resources come first. */
export const NAMES: readonly string[] = RESOURCES.map(({ name }) => name.plural);

/** The numbers of records in a message: `3 jars and 2 lids`. */
export function countedRecords(counts: ReadonlyMap<string, number>): string {
  const parts = RESOURCES.map(({ name }) => name.counted(counts.get(name.plural) ?? 0));
  return new Intl.ListFormat('en-GB').format(parts);
}

/** The largest id that an import or a restored backup may bring, so that enough ids are left for new records. */
export const LARGEST_ID = Number.MAX_SAFE_INTEGER - 1e12;
