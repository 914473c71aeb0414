import type { SortPosition } from './selection.js';

/**
 * Records as JSON array elements in UTF-8, each after a comma, so that chunks can be concatenated. The engine writes the JSON.
 */
export interface JsonPage<Last extends number | SortPosition = number | SortPosition> {
  readonly chunks: readonly Buffer[];
  readonly count: number;
  /** The last record: its id, or its position in a sorted list. */
  readonly last: Last;
}

/** Joins consecutive pages. */
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

/** Copies the JSON of an engine into a Buffer. */
export function bytesOf(records: Buffer | string): Buffer {
  return typeof records === 'string' ? Buffer.from(records) : records;
}
