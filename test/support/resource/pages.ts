import { isDeepStrictEqual } from 'node:util';
import type { Id } from '../../../src/resource/id-kinds.js';
import { expectStatus, type ResourceResponse } from './checked-client.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** More pages mean an endless list. */
const MOST_PAGES = 1000;

export interface Stored {
  readonly id: Id;
  readonly [property: string]: unknown;
}

export const ids = ({ body }: ResourceResponse): Id[] => body.map(({ id }: Stored) => id);

/** The records of all pages. */
export const recordsOf = (pages: readonly ResourceResponse[]): Stored[] =>
  pages.flatMap(({ body }) => body as Stored[]);

/** The ids in ascending order, without duplicates. */
export const inOrder = (some: readonly Id[]): Id[] => [...new Set(some)].sort((one, other) => (one < other ? -1 : 1));

/** Follows `Link` from a path to the last page. */
export async function follow(resource: ResourceUnderTest, path: string): Promise<ResourceResponse[]> {
  const pages: ResourceResponse[] = [];
  let next: string | undefined = path;
  while (next !== undefined && pages.length <= MOST_PAGES) {
    const page: ResourceResponse = await resource.get(next);
    expectStatus(page, 200);
    pages.push(page);
    const link = page.headers.get('link');
    if (link !== null) expect(link).toMatch(/^<[^>]*>; rel="next"$/);
    next = link?.slice(1, link.indexOf('>'));
  }
  return pages;
}

/** Expects these records or ids. `toEqual`, which is slow for thousands, only shows a difference. */
export function expectRecords<Each>(request: string, found: readonly Each[], expected: readonly Each[]): void {
  if (!isDeepStrictEqual(found, expected)) expect([request, found]).toEqual([request, expected]);
}
