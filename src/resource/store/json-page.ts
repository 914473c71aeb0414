import type { SortPosition } from './selection.js';

/**
 * Records as the elements of a JSON array in UTF-8, without its brackets and without the commas between the chunks. The engine
 * writes them: no object is made for any, and on SQLite no string.
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
