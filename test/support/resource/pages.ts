import { isDeepStrictEqual } from 'node:util';
import type { Id } from '../../../src/resource/id-kinds.js';
import type { Answer } from '../service.js';

/** More pages mean an endless list. */
const MOST_PAGES = 1000;

export interface Stored {
  readonly id: Id;
  readonly [property: string]: unknown;
}

export const ids = ({ body }: Answer): Id[] => body.map(({ id }: Stored) => id);

/** The records of all pages. */
export const recordsOf = (pages: readonly Answer[]): Stored[] => pages.flatMap(({ body }) => body as Stored[]);

/** The ids in ascending order, without duplicates. */
export const inOrder = (some: readonly Id[]): Id[] => [...new Set(some)].sort((one, other) => (one < other ? -1 : 1));

interface Reader<Page> {
  get(path: string): Promise<Page>;
}

/** Reads the pages from a path to the last one by their `Link`. */
export async function* eachPage<Page extends Answer>(client: Reader<Page>, path: string): AsyncGenerator<Page> {
  let next: string | undefined = path;
  for (let count = 0; next !== undefined && count <= MOST_PAGES; count++) {
    const page: Page = await client.get(next);
    expect({ path: next, status: page.status, text: page.status === 200 || page.text }).toMatchObject({ status: 200 });
    yield page;
    const link = page.headers.get('link');
    if (link !== null) expect(link).toMatch(/^<[^>]*>; rel="next"$/);
    next = link?.slice(1, link.indexOf('>'));
  }
}

export async function follow<Page extends Answer>(client: Reader<Page>, path: string): Promise<Page[]> {
  const pages: Page[] = [];
  for await (const page of eachPage(client, path)) pages.push(page);
  return pages;
}

/** Expects these records or ids. `toEqual`, which is slow for thousands, only shows a difference. */
export function expectRecords<Each>(request: string, found: readonly Each[], expected: readonly Each[]): void {
  if (!isDeepStrictEqual(found, expected)) expect([request, found]).toEqual([request, expected]);
}
