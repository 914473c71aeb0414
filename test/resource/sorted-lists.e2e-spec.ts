import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { transaction } from '../../src/database/engine.js';
import { checkLists } from '../../src/resource/lists/list-declaration.js';
import { cursorOf } from '../../src/resource/lists/order-parameters.js';
import { EnumFilter, ListQueryOf, RangeFilter } from '../../src/resource/lists/list-query.js';
import { ResourceName } from '../../src/resource/resource.js';
import type { NewRecord } from '../../src/resource/resource-entity.js';
import { wholeArray } from '../../src/resource/lists/json-array.js';
import { ResourceModule } from '../../src/resource/resource.module.js';
import type { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import type { Selection } from '../../src/resource/store/selection.js';
import { engineInUse } from '../support/engine.js';
import { CreateReadings1790000300000 } from '../readings/create-readings.js';
import { KINDS, Reading } from '../readings/reading.entity.js';
import { ReadingsModule } from '../readings/readings.module.js';
import { type Answer, Client, type Service, startService } from '../support/service.js';

type Values = NewRecord<Reading>;
type Property = 'level' | 'weight' | 'takenAt' | 'price' | 'day';
/** A reading as clients see it. */
type Listed = Omit<Reading, 'revision' | 'takenAt'> & { readonly takenAt: string | null };

const PROPERTIES = ['level', 'weight', 'takenAt', 'price', 'day'] as const;
const SORTS = ['id', ...PROPERTIES].flatMap((property) => [property, `-${property}`]);
const isSqlite = engineInUse() === 'sqlite';

const reading = (values: Partial<Values> = {}): Values => ({
  kind: 'indoor',
  batch: 1,
  level: 0,
  weight: 1,
  price: '1.00',
  day: '2026-03-01',
  takenAt: new Date('2026-03-01T12:00:00.000Z'),
  ...values,
});

const RANGES = { level: { from: 1, to: 900 }, takenAt: { to: new Date() }, price: { from: '1', to: '900' } };

/** `null` in the type of the entity's property. */
const NEVER = null as unknown as Date;

/** The expected order: by value, absent values last, equal values by id in the direction of the sort. */
function compare(sort: string): (one: Listed, other: Listed) => number {
  const sign = sort.startsWith('-') ? -1 : 1;
  const property = sort.replace('-', '') as 'id' | Property;
  return (one, other) => {
    const [a, b] = [one, other].map(({ [property]: value }) => (property === 'price' ? Number(value) : value));
    if (a === b) return sign * (one.id - other.id);
    if (a == null || b == null) return a === null ? 1 : -1;
    return sign * (a < b ? -1 : 1);
  };
}

type Asked = Readonly<Record<string, string | number | undefined>>;

const queryOf = (asked: Asked): string => new URLSearchParams(asked as Record<string, string>).toString();

/** Whether a list with these filters and bounds has the reading. */
const matches = (one: Listed, asked: Asked): boolean =>
  (asked['kind'] === undefined || one.kind === asked['kind']) &&
  (asked['batch'] === undefined || one.batch === asked['batch']) &&
  PROPERTIES.every((property) => {
    const [from, to] = [asked[`${property}From`], asked[`${property}To`]];
    if (from === undefined && to === undefined) return true;
    if (one[property] === null) return false;
    const comparable = (value: string | number): string | number =>
      property === 'takenAt' || property === 'day' ? value : Number(value);
    const value = comparable(one[property]);
    return (from === undefined || value >= comparable(from)) && (to === undefined || value <= comparable(to));
  });

describe(`lists that are sorted and bounded by properties (${engineInUse()})`, () => {
  let service: Service;
  let client: Client;
  let store: ResourceRepository<Reading>;

  beforeAll(async () => {
    service = await startService({}, [ReadingsModule], [new CreateReadings1790000300000()]);
    client = await Client.of(service, { scope: 'readings:read' });
    store = service.app.get<ResourceRepository<Reading>>('ReadingResourceRepository', { strict: false });
  });

  afterAll(() => service.stop());

  const create = async (all: readonly Values[]): Promise<void> => {
    for (const values of all) await store.create(values);
  };

  const all = async (): Promise<Listed[]> => (await client.get('/readings')).body;

  const clear = async (): Promise<void> => {
    await Promise.all((await all()).map(({ id }) => store.delete(id)));
  };

  const nextOf = ({ headers }: Answer): string | undefined =>
    /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];

  /** The pages that are found by following `Link`. */
  async function pages(query: string, onPage?: (page: Listed[]) => Promise<void>): Promise<Listed[][]> {
    const found: Listed[][] = [];
    for (let path: string | undefined = `/readings?${query}`; path !== undefined && found.length < 500;) {
      const response: Answer = await client.get(path);
      expect(response.status).toBe(200);
      found.push(response.body);
      await onPage?.(response.body);
      path = nextOf(response);
    }
    return found;
  }
  const ids = (records: readonly Listed[]): number[] => records.map(({ id }) => id);

  describe('of a few readings', () => {
    let first: number;

    /** Ids relative to the first record of the test, beginning with 1. */
    const numbers = async (query: string): Promise<number[]> =>
      ids((await client.get(`/readings?${query}`)).body).map((id) => id - first + 1);

    beforeAll(async () => {
      await create([
        reading({ level: 2, weight: 0.1, price: '10.00', takenAt: new Date('2026-03-01T12:00:00.001Z') }),
        reading({ level: null, weight: 1e21, takenAt: NEVER, kind: 'outdoor', price: '9.99', day: null }),
        reading({ level: 2, weight: 0.30000000000000004, takenAt: new Date('2026-03-01T12:00:00.002Z'), batch: 2 }),
        reading({
          level: -7,
          weight: 0.3,
          price: '-100.50',
          day: '0999-12-31',
          takenAt: new Date('2026-02-28T23:59:59.999Z'),
        }),
        reading({ level: 2, weight: 0.1, takenAt: new Date('2026-03-01T12:00:00.001Z'), kind: 'outdoor' }),
        reading({ level: null, weight: 5, takenAt: NEVER, batch: 2, price: '10.01', day: '2026-02-28' }),
        reading({
          level: 10,
          weight: 0,
          price: '12345678.90',
          day: '9999-12-31',
          takenAt: new Date('1999-12-31T00:00:00Z'),
        }),
      ]);
      first = (await all())[0]!.id;
    });

    afterAll(clear);

    it.each([
      ['heavy?weightFrom=1', [2, 6]],
      ['heavy?levelFrom=2&sort=weight', [7, 1, 5, 3]],
      ['of-batch?batch=2', [3, 6]],
      ['heavy?weightFrom=0.5', 'weightFrom'],
      ['heavy?kind=outdoor', 'kind'],
      ['heavy?weightTo=1', 'weightTo'],
      ['of-batch?sort=-id', 'sort'],
    ])('GET %s accepts the parameters that OmitType or PickType leave to the query class', async (query, expected) => {
      const { status, body } = await client.get(`/readings/${query}`);
      if (typeof expected === 'string') expect([status, body.details[0].parameter]).toEqual([400, expected]);
      else expect([status, ids(body).map((id) => id - first + 1)]).toEqual([200, expected]);
    });

    // The test of random readings has the other values and all sorts.
    it.each([
      ['levelFrom=3&levelTo=2', []],
      ['weightFrom=0.30000000000000004', [2, 3, 6]],
      ['weightFrom=1000000000000000000000', [2]],
      ['takenAtFrom=0001-01-01T00:00:00Z', [1, 3, 4, 5, 7]],
      ['takenAtFrom=2026-03-01T14:00:00.002%2B02:00', [3]],
      ['takenAtTo=2026-03-01T06:30:00.001-05:30', [1, 4, 5, 7]],
      ['takenAtTo=9999-12-31T23:59:59.999Z', [1, 3, 4, 5, 7]],
      ['priceFrom=9.991&priceTo=10.009', [1]],
      ['priceTo=-100.5', [4]],
      ['dayFrom=0999-12-31&dayTo=0999-12-31', [4]],
    ])('GET with ?%s is 200 with what is within the bounds, in other orders, too', async (query, expected) => {
      expect(await numbers(query)).toEqual(expected);
      const response = await client.get(`/readings?${query}`);
      expect(response.headers.get('x-total-count')).toBeNull();
      for (const sort of ['-id', '-level', 'price']) {
        const sorted = [...(response.body as Listed[])].sort(compare(sort));
        expect((await pages(`${query}&sort=${sort}&limit=2`)).flat()).toEqual(sorted);
      }
    });

    it('GET with a sort alone has X-Total-Count, and its Link keeps all parameters', async () => {
      const response = await client.get('/readings?limit=2&sort=-level&levelFrom=-7&kind=indoor&kind=outdoor');
      const next = new URL(nextOf(response)!, 'http://localhost');
      const after = next.searchParams.get('after')!;
      expect(`${next.pathname}${next.search}`).toBe(
        `/readings?limit=2&sort=-level&levelFrom=-7&kind=indoor&kind=outdoor&after=${after}`,
      );
      expect(after).toMatch(/^[A-Za-z0-9_-]+$/);
      expect((await client.get('/readings?sort=level')).headers.get('x-total-count')).toBe('7');
      expect((await client.get('/readings?sort=level&limit=1')).headers.get('x-total-count')).toBe('7');
    });

    it('GET in another order is 304 until a reading changes', async () => {
      const path = '/readings?sort=-weight&levelFrom=0';
      const etag = (await client.get(path)).headers.get('etag')!;
      expect((await client.get(path, { 'if-none-match': etag })).status).toBe(304);
      await store.update(first, { weight: 0.2 });
      expect((await client.get(path, { 'if-none-match': etag })).status).toBe(200);
      await store.update(first, { weight: 0.1 });
    });

    const cursor = (...parts: unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');

    it.each([
      ['level', 'a cursor of another property', cursor('weight', 1, 7)],
      ['level', 'no id', cursor('level', 1)],
      ['level', 'a space more', Buffer.from('["level", 1,7]').toString('base64url')],
      ['level', 'one part more', cursor('level', 1, 7, 7)],
      ['level', 'a character of plain base64', `${cursor('level', 1, 7)}+`],
      ['level', 'a long string', 'W'.repeat(5000)],
      ['takenAt', 'a name that PostgreSQL has for a moment', cursor('takenAt', 'now', 7)],
      ['day', 'a name that PostgreSQL has for a day', cursor('day', 'today', 7)],
      ['-id', 'a cursor of a property', cursor('level', 5, 7)],
    ])('GET with sort=%s is 400 for %s as `after`', async (sort, _name, after) => {
      const response = await client.get(`/readings?sort=${sort}&after=${encodeURIComponent(after)}`);
      expect(response).toMatchObject({ status: 400, body: { details: [{ parameter: 'after' }] } });
      expect(response.body.details).toHaveLength(1);
    });

    it('GET is 400 for a duplicate `after`, and for an unknown sort, which is the only error', async () => {
      const twice = await client.get(`/readings?sort=level&after=0&after=0`);
      expect(twice).toMatchObject({ status: 400, body: { details: [{ parameter: 'after' }] } });
      for (const sort of ['kind', 'LEVEL', '--level', 'constructor']) {
        const { status, body } = await client.get(`/readings?sort=${encodeURIComponent(sort)}&after=WyJ`);
        expect({ status, names: body.details.map(({ parameter }: any) => parameter) }).toEqual({
          status: 400,
          names: ['sort'],
        });
      }
    });

    it('GET is 200 for any position in the order, with or without a record', async () => {
      const after = (property: Property, value: string | number | null, id: number): string =>
        `sort=${property}&after=${cursorOf(property, { value, id })}`;
      expect(await numbers('sort=level&after=0')).toEqual([4, 1, 3, 5, 7, 2, 6]);
      expect(await numbers(after('level', 2, first))).toEqual([3, 5, 7, 2, 6]);
      expect(await numbers(after('level', 3, 1))).toEqual([7, 2, 6]);
      expect(await numbers(after('level', 2 ** 53 - 1, 1))).toEqual([2, 6]);
      expect(await numbers(after('level', null, first + 1))).toEqual([6]);
      expect(await numbers(after('weight', null, 1))).toEqual([]);
      expect(await numbers(after('weight', -1e300, 1))).toEqual([7, 1, 5, 4, 3, 6, 2]);
      expect(await numbers(after('takenAt', '2026-02-28 23:59:59.9995', 1))).toEqual([1, 5, 3, 2, 6]);
      expect(await numbers(`${after('level', 2, 1)}&levelFrom=5`)).toEqual([7]);
    });

    // `describeResource` has other wrong values.
    it.each([
      'levelFrom=101',
      'levelTo=9007199254740992',
      'priceFrom=-1000.01',
      'takenAtFrom=2026-03-01T12:00:00+02:00',
      'takenAtTo=9999-12-31T23:59:59-01:00',
    ])('GET with ?%s is 400 with a detail that names valid values', async (query) => {
      const parameter = query.split('=')[0];
      const { status, body } = await client.get(`/readings?${query}`);
      const details = [{ parameter, message: expect.stringMatching(/^must be given once, as a /) }];
      expect({ status, details: body.details }).toEqual({ status: 400, details });
    });

    it('GET is 200 for a filter of 20 values, and 400 for 21 values', async () => {
      const batches = (count: number) => Array.from({ length: count }, (_, index) => `batch=${index + 1}`).join('&');
      expect(await numbers(batches(20))).toEqual([1, 2, 3, 4, 5, 6, 7]);
      const { status, body } = await client.get(`/readings?${batches(21)}`);
      expect([status, body.details]).toEqual([
        400,
        [{ parameter: 'batch', message: 'must be given at most 20 times' }],
      ]);
    });

    it('the document describes what the list accepts', async () => {
      const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as any;
      const parameters = document.paths['/readings'].get.parameters.filter((one: any) => one.in === 'query');
      const schemas = Object.fromEntries(parameters.map(({ name, schema }: any) => [name, schema]));
      expect(Object.keys(schemas)).toEqual([
        ...['limit', 'after', 'sort', 'kind', 'batch'],
        ...['levelFrom', 'levelTo', 'weightFrom', 'weightTo', 'takenAtFrom', 'takenAtTo'],
        ...['priceFrom', 'priceTo', 'dayFrom', 'dayTo'],
      ]);
      expect(schemas).toMatchObject({
        levelFrom: { type: 'integer', format: 'int64', minimum: -100, maximum: 100 },
        levelTo: { type: 'integer', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
        weightFrom: { type: 'number', format: 'double', minimum: 0 },
        takenAtTo: { type: 'string', format: 'date-time' },
        priceTo: { type: 'string', format: 'decimal' },
        dayTo: { type: 'string', format: 'date' },
        after: { type: 'string' },
      });
      expect(schemas.weightFrom).not.toHaveProperty('maximum');
      expect(document.components.schemas.ReadingSort.enum).toEqual(SORTS);
      expect(document.components.schemas.ReadingSort['x-enum-varnames'].slice(0, 4)).toEqual([
        ...['IdAscending', 'IdDescending', 'LevelAscending', 'LevelDescending'],
      ]);
      const next = nextOf(await client.get('/readings?sort=level&limit=1'))!;
      for (const after of ['0', new URLSearchParams(next.split('?')[1]).get('after')]) {
        expect(after).toMatch(new RegExp(schemas.after.pattern));
      }
      const moment = new RegExp(schemas.takenAtFrom.pattern);
      expect([moment.test('2026-03-01T12:00:00.5+02:00'), moment.test('2026-03-01 12:00:00Z')]).toEqual([true, false]);
    });
  });

  describe('while readings change', () => {
    afterEach(clear);

    it.each(['level', '-level', '-takenAt', 'price', '-day'])(
      'pages with sort=%s have each unchanged reading once, in order',
      async (sort) => {
        const values = [null, -3, -2, -2, -2, 0, 0, 0, 1, 5, 5, 5, 5, 9, null, null, 2, 2, 2, 5];
        const valueOf = (level: number | null): Partial<Values> => ({
          level,
          ...(level !== null && { weight: level / 10, price: level.toFixed(2) }),
          day: level === null ? null : new Date(Date.UTC(2026, 0, 10 + level)).toISOString().slice(0, 10),
          takenAt: level === null ? NEVER : new Date(Date.UTC(2026, 0, 10 + level)),
        });
        await create(values.map((level) => reading(valueOf(level))));
        const before = await all();
        const touched = new Set<number>();
        let round = 0;
        const found = await pages(`sort=${sort}&limit=3`, async (page) => {
          // The last record of the page, which the cursor names, is deleted or moved; others come before and after it.
          const [last, other] = [page.at(-1), page.at(0)];
          round++;
          if (last !== undefined) {
            touched.add(last.id);
            if (round % 2 === 0) await store.delete(last.id);
            else await store.update(last.id, valueOf(round % 3 === 0 ? null : 20 - 10 * round));
          }
          if (other !== undefined && other.id !== last?.id) {
            touched.add(other.id);
            await store.update(other.id, valueOf([-9, 9, null][round % 3]!));
          }
          if (round < 8) await create([-9, -2, 0, 2, 5, 9, null].map((level) => reading(valueOf(level))));
        });
        const known = new Set(ids(before));
        const untouched = before.filter(({ id }) => !touched.has(id));
        expect(untouched.length).toBeGreaterThan(3);
        const seen = found.flat().filter(({ id }) => known.has(id) && !touched.has(id));
        expect(seen).toEqual([...untouched].sort(compare(sort)));
      },
    );
  });

  describe('of random readings', () => {
    afterEach(clear);

    const price = fc.constantFrom('-100.50', '9.99', '10.00', '10.01', '12345678.90');
    const day = fc.constantFrom('0999-12-31', '2026-02-28', '2026-03-01', '9999-12-31');
    const level = fc.option(fc.integer({ min: -3, max: 3 }));
    const weight = fc.oneof(
      fc.integer({ min: 0, max: 4 }),
      fc.double({ min: 0, max: 4, noNaN: true }),
      fc.constant(1e-300),
    );
    /** Instants of the repeated hour in America/New_York, in which `.ci/run` runs this test, too. */
    const moment = fc
      .tuple(fc.constantFrom(5, 6), fc.integer({ min: 0, max: 2 }))
      .map(([hour, ms]) => new Date(Date.UTC(2026, 10, 1, hour, 30, 0, ms)));
    const record = fc
      .record({
        kind: fc.constantFrom(...KINDS),
        batch: fc.integer({ min: 1, max: 3 }),
        level,
        weight,
        takenAt: fc.option(moment),
        price,
        day: fc.option(day),
      })
      .map((values) => reading({ ...values, weight: values.weight + 0, takenAt: values.takenAt ?? NEVER }));
    const filters: Record<string, fc.Arbitrary<string | number>> = {
      kind: fc.constantFrom(...KINDS),
      batch: fc.integer({ min: 1, max: 3 }),
      levelFrom: fc.integer({ min: -3, max: 3 }),
      levelTo: fc.integer({ min: -3, max: 3 }),
      weightFrom: fc.constantFrom('0', '1', '0.5', '2.25'),
      weightTo: fc.constantFrom('0', '1', '3.75'),
      takenAtFrom: moment.map((date) => date.toISOString()),
      takenAtTo: moment.map((date) => date.toISOString()),
      priceFrom: price,
      priceTo: price,
      dayFrom: day,
      dayTo: day,
    };
    /** With more than two filters, most lists would be empty. */
    const chosen = fc.subarray(Object.keys(filters), { maxLength: 2 });
    const query = fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(...SORTS), fc.record(filters), chosen)
      .map(([limit, sort, values, names]): [limit: number, sort: string, asked: Asked] => [
        limit,
        sort,
        { sort, ...Object.fromEntries(names.map((name) => [name, values[name]])) },
      ]);

    it('pages of any limit, sort and bounds are the sorted array, and equal to the whole list', async () => {
      const sets = fc.tuple(fc.array(record, { maxLength: 30 }), fc.array(query, { minLength: 10, maxLength: 10 }));
      await fc.assert(
        fc.asyncProperty(sets, async ([records, queries]) => {
          await clear();
          await Promise.all(records.map((values) => store.create(values)));
          const stored = await all();
          const instants = records.map(({ takenAt }) => takenAt?.toISOString() ?? null);
          expect(stored.map(({ takenAt }) => takenAt).sort()).toEqual(instants.sort());
          for (const [limit, sort, asked] of queries) {
            const parameters = queryOf(asked);
            const expected = stored.filter((one) => matches(one, asked)).sort(compare(sort));
            expect((await client.get(`/readings?${parameters}`)).body).toEqual(expected);
            const found = await pages(`${parameters}&limit=${limit}`);
            expect(found.flat()).toEqual(expected);
            expect(found).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)));
          }
        }),
        { numRuns: 8 },
      );
    });
  });

  describe('of thousands of readings', () => {
    const COUNT = 5000;

    beforeAll(async () => {
      // The values make whole pages of one value, and pages of different values.
      const values = Array.from({ length: COUNT }, (_, index) =>
        reading({
          batch: 1 + (index % 2),
          kind: index % 1000 === 999 ? 'outdoor' : 'indoor',
          level: index % 5 === 0 ? null : index % 3,
          weight: (index * 7919) % COUNT,
          takenAt: new Date(Date.UTC(2026, 0, 1) + ((index * 31) % 97)),
        }),
      );
      const dataSource = service.app.get(DataSource);
      await transaction(dataSource, (tx) => store.in(tx).createMany(values));
      if (!isSqlite) await dataSource.query('ANALYZE readings');
    });

    it.each(['level', 'weight', '-takenAt'])(
      'GET with sort=%s without a limit is 200 with all of them',
      async (sort) => {
        const expected = (await all()).sort(compare(sort));
        expect(expected).toHaveLength(COUNT);
        for (const asked of [{}, { kind: 'outdoor' }, { levelTo: 1, batch: 1, weightFrom: 4000 }]) {
          const { body } = await client.get(`/readings?${queryOf({ sort, ...asked })}`);
          expect(ids(body)).toEqual(ids(expected.filter((one) => matches(one, asked))));
        }
        expect(ids((await pages(`sort=${sort}&limit=1000`)).flat())).toEqual(ids(expected));
      },
    );

    /** Every statement of a whole list and of a page, with its query plan. */
    async function plansOf(selection: Selection): Promise<[sql: string, plan: string][]> {
      const snapshot = await store.openSnapshot();
      const inner = (snapshot as unknown as { snapshot: { query(sql: string, parameters: unknown[]): Promise<any[]> } })
        .snapshot;
      const query = inner.query.bind(inner);
      const plans: [string, string][] = [];
      inner.query = async (sql, parameters) => {
        const rows = await query(`${isSqlite ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'} ${sql}`, parameters);
        plans.push([sql, rows.map((row) => row.detail ?? row['QUERY PLAN']).join('\n')]);
        return query(sql, parameters);
      };
      try {
        let count = 0;
        for await (const page of snapshot.pages(selection)) count += page.count;
        expect(count).toBeGreaterThan(0);
        return plans;
      } finally {
        snapshot.close();
      }
    }

    const SELECTIONS: Selection[] = (['level', 'price', 'takenAt'] as const).flatMap((sortBy) =>
      (['ascending', 'descending'] as const).flatMap((order) => [
        { sortBy, order },
        { sortBy, order, filters: { batch: [1, 2] } },
        { sortBy, order, filters: { kind: ['outdoor'], batch: [2] } },
        { sortBy, order, ranges: { [sortBy]: RANGES[sortBy] } },
      ]),
    );

    // PostgreSQL plans by its statistics, and may sort a small table.
    if (isSqlite)
      it.each(SELECTIONS)('no statement sorts or begins at the first record: %j', async (selection) => {
        const plans = await plansOf(selection);
        expect(plans.length).toBeGreaterThan(1);
        for (const [sql, plan] of plans) {
          expect(plan).not.toContain('TEMP B-TREE');
          expect(plan).toMatch(/(SEARCH|SCAN) readings USING (COVERING )?INDEX/);
          if (/ = (CAST|\?)/.test(sql)) expect(plan).toMatch(/=\? AND id[<>]\?/);
        }
      });

    it('a list that is read slowly has all records as they were at its beginning', async () => {
      const expected = (await all()).sort(compare('-weight'));
      const snapshot = await store.openSnapshot();
      const found: Listed[] = [];
      try {
        for await (const { chunks } of snapshot.pages({ sortBy: 'weight', order: 'descending' })) {
          found.push(...(JSON.parse(wholeArray(chunks).toString()) as Listed[]));
          await store.delete(expected.at(-found.length)!.id);
          await store.update(expected[found.length - 5]!.id, { weight: -found.length });
          await store.create(reading({ weight: 1.5 }));
        }
      } finally {
        snapshot.close();
      }
      expect(found).toEqual(expected);
    });
  });

  describe('at the start', () => {
    const list = (make: (name: ResourceName) => void): (() => void) => {
      const name = new ResourceName('reading');
      make(name);
      return () => checkLists(name, store.table);
    };

    it('a sort without an index ends it, with what to add to the entity and to the migration', async () => {
      const name = new ResourceName('reading');
      ListQueryOf(name, { sorts: { batch: 'integer' } });
      const feature = ResourceModule.forFeature({ name, entity: Reading, capacity: () => 1 });
      await expect(startService({}, [feature])).rejects.toThrow(
        `The records of readings cannot be sorted: batch has no index together with the id: add @Index(['batch', 'id']) to ` +
          `Reading, and to a migration "indices: [['batch', 'id']]" of createResourceTable, or for a table that exists ` +
          `queryRunner.createIndex('readings', new TableIndex({ columnNames: ['batch', 'id'] }))`,
      );
    });

    it('a sort by a string, another type, or a missing property, or a filter without a column ends it', () => {
      for (const [sorts, message] of [
        [{ kind: 'integer' }, 'kind is a string, and only'],
        [{ level: 'number' }, 'level as number, but a column of integer'],
        [{ revision: 'integer' }, 'no property "revision"'],
      ] as const) {
        expect(list((name) => ListQueryOf(name, { sorts }))).toThrow(message);
      }
      expect(list((name) => ListQueryOf(name, { sorts: { level: 'integer' } }))).not.toThrow();
      const withProperty = (property: string, decorator: PropertyDecorator) =>
        list((name) => decorator(class extends ListQueryOf(name) {}.prototype, property));
      expect(withProperty('colour', EnumFilter({ enum: ['a'], enumName: 'A' }, ''))).toThrow('no property "colour"');
      expect(withProperty('levelTo', RangeFilter('date-time', ''))).toThrow(
        'The list of readings has level as date-time, but a column of integer',
      );
    });

    it('a bound with another name, or in a class that is no list query, is an error', () => {
      const filter = RangeFilter('integer', '');
      expect(() => filter(class extends ListQueryOf(new ResourceName('x')) {}.prototype, 'minLevel')).toThrow(
        '@RangeFilter is for properties such as quantityFrom and quantityTo, not for minLevel',
      );
      expect(() => filter(class Plain {}.prototype, 'levelFrom')).toThrow(
        'Plain has a filter and must extend ListQueryOf(...)',
      );
    });
  });
});
