import { isDeepStrictEqual } from 'node:util';
import type { Id } from '../../../src/resource/id-kinds.js';
import { expectStatus, type ResourceResponse, tally } from './checked-client.js';
import { expectRecords, follow, ids, inOrder, recordsOf, type Stored } from './pages.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** More records than two statements of the engine read, and than two pages of the largest limit have. */
const COUNT = 2100;

/** Tests order, pages, filters, totals and caching of the list. */
export function describeLists(resource: ResourceUnderTest): void {
  const { path, contract } = resource;
  const { filters, patch, create, ownReferences, otherParameters = [] } = contract;
  const [firstFilter] = Object.entries(filters);

  describe(`the list of ${COUNT} records`, () => {
    let all: Stored[];

    beforeAll(async () => {
      await resource.empty();
      for (const changes of combinations(filters)) await resource.create(changes);
      await resource.fillTo(COUNT);
      const list = await resource.get(path);
      expectStatus(list, 200);
      all = list.body;
    });

    /** The ids of the records from one position to another; positions begin with 1. */
    const places = (first: number, last = COUNT): Id[] => all.slice(first - 1, last).map(({ id }) => id);
    /** Replaces `#7` in a query by the id of the seventh record, and `#max` by the greatest id. */
    const withIds = (query: string): string =>
      query
        .replace('#max', String(resource.greatestId))
        .replaceAll(/#(\d+)/g, (_, place) => String(all[place - 1]!.id));

    it('GET returns one plain array of all records, in the order of their ids, with their number', async () => {
      const list = await resource.get(path);
      expect(list.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(list.body).toHaveLength(COUNT);
      expectRecords(path, ids(list), inOrder(ids(list)));
      expect(list.headers.get('etag')).toMatch(/^"[\x21\x23-\x7e]+"$/);
      expect(list.headers.get('x-total-count')).toBe(String(COUNT));
      expect(list.headers.get('link')).toBeNull();
      expect(list.headers.get('content-length')).toBeNull();
      expect(list.headers.get('transfer-encoding')).toBe('chunked');
      expect(list.body.at(-1)).toEqual((await resource.get(`${path}/${all.at(-1)!.id}`)).body);
    });

    it.each<[query: string, first: number, last: number]>([
      ['', 1, COUNT],
      ['sort=id', 1, COUNT],
      ['sort=%2Did', 1, COUNT],
      ['limit=3', 1, 3],
      ['limit=3&after=#1000', 1001, 1003],
      ['after=#2097', 2098, COUNT],
      ['limit=1000&after=#2099', COUNT, COUNT],
      ['after=#2100', 1, 0],
      ['limit=5&after=#max', 1, 0],
      ['sort=-id&limit=2&after=0', 2099, COUNT],
      ['sort=-id&limit=2&after=#1000', 998, 999],
      ['sort=-id&after=#3', 1, 2],
      ['sort=-id&limit=1&after=#max', COUNT, COUNT],
    ])('GET with ?%s returns the records from position %i to %i, and the number of all', async (query, first, last) => {
      const list = await resource.get(`${path}?${withIds(query)}`);
      const expected = places(first, last);
      expectRecords(query, ids(list), /(-|%2D)id/.test(query) ? expected.reverse() : expected);
      expect(list.headers.get('x-total-count')).toBe(String(COUNT));
    });

    it.each<[query: string, pages: number, first: number]>([
      ['limit=1000', 3, 1],
      ['limit=1000&sort=-id', 3, 1],
      ['limit=700', 3, 1],
      ['limit=699&sort=-id', 4, 1],
      ['limit=1000&after=#1100', 1, 1101],
      ['limit=1000&after=#1099', 2, 1100],
    ])('GET with ?%s leads through %i pages by Link, which the last page lacks', async (query, count, first) => {
      const pages = await follow(resource, `${path}?${withIds(query)}`);
      expect(pages).toHaveLength(count);
      const expected = places(first);
      expectRecords(query, pages.flatMap(ids), query.includes('-id') ? expected.reverse() : expected);
    });

    const selections = Object.entries(filters).map(([name, [one]]) => ({
      query: `${name}=${String(one)}`,
      selected: (record: Stored) => record[name] === one,
    }));
    const eitherOf = ([name, [one, other]]: NonNullable<typeof firstFilter>) => ({
      query: `${name}=${String(one)}&${name}=${String(other)}`,
      selected: (record: Stored) => record[name] === one || record[name] === other,
    });
    const together = {
      query: Object.entries(filters)
        .map(([name, [, other]]) => `${name}=${String(other)}`)
        .join('&'),
      selected: (record: Stored) => Object.entries(filters).every(([name, [, other]]) => record[name] === other),
    };
    const filtered = firstFilter === undefined ? [] : [...selections, eitherOf(firstFilter), together];

    it.each(filtered.length > 0 ? filtered : [{ query: '', selected: () => true }])(
      'GET with ?$query returns exactly the matching records, also in pages and the newest first',
      async ({ query, selected }) => {
        const expected = all.filter(selected);
        expect(expected).not.toEqual([]);
        const list = await resource.get(`${path}?${query}`);
        expectRecords(query, list.body, expected);
        const total = query === '' ? String(COUNT) : null;
        expect(list.headers.get('x-total-count')).toBe(total);
        const pages = await follow(resource, `${path}?${query}&sort=-id&limit=500`.replace('?&', '?'));
        expect(pages).toHaveLength(Math.ceil(expected.length / 500));
        expectRecords(query, recordsOf(pages), [...expected].reverse());
      },
    );

    it('the filters in the document are those that this suite knows', () => {
      const { parameters } = resource.document.operation('get', path);
      const inQuery = parameters.filter((parameter: { in: string }) => parameter.in === 'query');
      // test/resource/sorted-lists.e2e-spec.ts tests the limits of ranges.
      const ofService = resource.ofService(all[0]!);
      const names = inQuery
        .map(({ name }: { name: string }) => name)
        .filter((name: string) => !/(From|To)$/.test(name) && !(name in ofService))
        .filter((name: string) => ![...ownReferences, ...otherParameters].includes(name));
      expect(names.sort()).toEqual(['after', 'limit', 'sort', ...Object.keys(filters)].sort());
    });

    // On PostgreSQL, one subject may read four long lists at a time.
    it('4 GETs together return 200 with all records', async () => {
      const lists = await Promise.all(Array.from({ length: 4 }, () => resource.get(path)));
      expect(tally(lists)).toEqual({ 200: 4 });
      for (const { body } of lists) expect(body).toHaveLength(COUNT);
    });

    it.each(['', '?limit=10', '?after=#max', '?sort=-id', '/{id}'])(
      'HEAD %s returns the header fields of GET without a body, and 304 when GET does',
      async (target) => {
        const of = path + withIds(target).replace('{id}', String(all[0]!.id));
        const get = await resource.get(of);
        const head = await resource.request('HEAD', of);
        expectStatus(head, 200);
        expect(head.text).toBe('');
        expect(lasting(head)).toEqual(lasting(get));
        const headers = { 'if-none-match': get.headers.get('etag')! };
        const unchanged = await resource.request('HEAD', of, { headers });
        expectStatus(unchanged, 304);
        expect(lasting(unchanged)).toEqual(lasting(await resource.get(of, headers)));
      },
    );

    it('GET that is repeated returns the same bytes and ETag, and after a change new ones', async () => {
      const [first, again] = [await resource.get(path), await resource.get(path)];
      expect([again.text === first.text, again.headers.get('etag')]).toEqual([true, first.headers.get('etag')]);
      const last = all.at(-1)!;
      const back = Object.fromEntries(Object.keys(patch).map((name) => [name, last[name]]));
      // The last record may already have the values of `patch`, because it is one of the combinations.
      const changes = Object.entries(patch).map(([name, value]) => {
        return [name, isDeepStrictEqual(last[name], value) ? create[name] : value] as const;
      });
      for (const body of [resource.next(Object.fromEntries(changes)), back]) {
        const patched = await resource.request('PATCH', `${path}/${last.id}`, { body });
        expectStatus(patched, 204);
        const changed = await resource.get(path);
        expect(changed.headers.get('etag')).not.toBe(first.headers.get('etag'));
        expect(changed.body.at(-1)).toEqual({ ...last, ...body, ...resource.ofService(changed.body.at(-1)) });
      }
    });
  });

  it('GET of an empty list returns 200 with [], the number 0, an ETag, and no Link', async () => {
    await resource.empty();
    for (const target of [path, `${path}?limit=10`]) {
      const list = await resource.get(target);
      expect(list.text).toBe('[]');
      expect(list.headers.get('x-total-count')).toBe('0');
      expect(list.headers.get('etag')).toMatch(/^"[\x21\x23-\x7e]+"$/);
      expect(list.headers.get('link')).toBeNull();
    }
  });
}

/** Header fields without those of a single response or connection; fetch closes the connection after HEAD. */
function lasting({ headers }: ResourceResponse): Record<string, string> {
  const passing = ['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding'];
  return Object.fromEntries([...headers].filter(([name]) => !passing.includes(name)));
}

/** All combinations of one value of each filter. */
function combinations(filters: Readonly<Record<string, readonly unknown[]>>): Record<string, unknown>[] {
  return Object.entries(filters).reduce<Record<string, unknown>[]>(
    (made, [name, values]) => made.flatMap((each) => values.map((value) => ({ ...each, [name]: value }))),
    [{}],
  );
}
