import type { SortPosition } from './selection.js';

/**
 * Records as elements of a JSON array in UTF-8, each with a comma before it, so that chunk follows chunk as it is. The engine writes
 * them: no object is made for any, and on SQLite no string.
 */
export interface JsonPage<Last extends number | SortPosition = number | SortPosition> {
  readonly chunks: readonly Buffer[];
  readonly count: number;
  /** The last record: its id, or its place in the order by a property. */
  readonly last: Last;
}

/** Consecutive pages as one. */
export function joined<Last extends number | SortPosition>(
  pages: readonly JsonPage<Last>[],
): JsonPage<Last> | undefined {
  const final = pages.at(-1);
  if (final === undefined || pages.length === 1) return final;
  return {
    chunks: pages.flatMap(({ chunks }) => chunks),
    count: pages.reduce((sum, { count }) => sum + count, 0),
    last: final.last,
  };
}

/** What an engine has written, in memory of its own. */
export function bytesOf(records: Buffer | string): Buffer {
  return typeof records === 'string' ? Buffer.from(records) : records;
}
