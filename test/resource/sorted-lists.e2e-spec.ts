import { Controller, Get, Module, Query } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { ApiExcludeController, OmitType, PickType } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { transaction } from '../../src/database/engine.js';
import { openApiDocument } from '../../src/openapi/document.js';
import { Exchange, ResourceExchange } from '../../src/resource/exchange.js';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { cursorOf } from '../../src/resource/lists/cursor.js';
import { checkLists } from '../../src/resource/lists/list-declaration.js';
import { EnumFilter, ListQueryOf, RangeFilter } from '../../src/resource/lists/list-query.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import { ResourceModule } from '../../src/resource/resource.module.js';
import { ResourceName } from '../../src/resource/resource.js';
import type { NewRecord } from '../../src/resource/resource-entity.js';
import type { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import type { Selection } from '../../src/resource/store/selection.js';
import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { ListSamplesQuery } from '../samples/sample.dto.js';
import { sampleValues } from '../samples/sample-body.js';
import { Sample } from '../samples/sample.entity.js';
import { SamplesModule } from '../samples/samples.module.js';
import { engineInUse } from '../support/engine.js';
import { eachPage } from '../support/resource/pages.js';
import { type Answer, Client, COOKIE, sharedService, startService } from '../support/service.js';

type Values = NewRecord<Sample>;
type Listed = Record<string, string | number | null> & { readonly id: string; readonly code: string };

const isSqlite = engineInUse() === 'sqlite';

/** A second list of the samples: without `status`, and with another range of weights. */
class HeavyQuery extends OmitType(ListSamplesQuery, ['status', 'weightFrom', 'weightTo'] as const) {
  @RangeFilter('number', 'Only samples of this weight or more.', { minimum: 1 })
  weightFrom?: number;
}

class OfCookieQuery extends PickType(ListSamplesQuery, ['limit', 'cookieId'] as const) {}

@Controller('lists')
@Scopes('samples:read')
@ApiExcludeController()
class ListsController {
  constructor(
    private readonly module: ModuleRef,
    private readonly lists: ResourceLists,
  ) {}

  private get samples(): ResourceRepository<Sample> {
    return this.module.get('SampleResourceRepository', { strict: false });
  }

  @Get('heavy')
  heavy(@Query() query: HeavyQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.samples, query, exchange);
  }

  @Get('of-cookie')
  ofCookie(@Query() query: OfCookieQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.samples, query, exchange);
  }
}

@Module({ imports: [SamplesModule], controllers: [ListsController] })
class ListsModule {}

/** The expected order: by value, absent values last, equal values by id in the direction of the sort. */
function compare(sort: string): (one: Listed, other: Listed) => number {
  const sign = sort.startsWith('-') ? -1 : 1;
  const property = sort.replace('-', '');
  return (one, other) => {
    const isDecimal = property === 'price' || property === 'tip';
    const [a, b] = [one, other].map(({ [property]: value }) => (isDecimal && value !== null ? Number(value) : value));
    if (a === b) return sign * (one.id < other.id ? -1 : 1);
    if (a == null || b == null) return a === null ? 1 : -1;
    return sign * (a < b ? -1 : 1);
  };
}

// `describeResource` tests every range, sort and cursor of the samples.
describe(`lists that are sorted and bounded by properties (${engineInUse()})`, () => {
  const { service } = sharedService({}, [ListsModule], [new CreateSamples1790000500000()]);
  const client = Client.of(service, { scope: 'cookies:write samples:read' });
  let store: ResourceRepository<Sample>;

  beforeAll(async () => {
    store = service.app.get<ResourceRepository<Sample>>('SampleResourceRepository', { strict: false });
    for (let cookies = 0; cookies < 2; cookies++) await client.post(COOKIE);
  });

  const create = async (all: readonly Values[]): Promise<void> => {
    for (const values of all) await store.create(values);
  };
  const all = async (): Promise<Listed[]> => (await client.get('/samples')).body;
  const clear = () => service.app.get(DataSource).query('DELETE FROM samples');
  const ids = (records: readonly Listed[]): string[] => records.map(({ id }) => id);

  /** The pages that are found by following `Link`. */
  async function pages(query: string, onPage?: (page: Listed[]) => Promise<void>): Promise<Listed[]> {
    const found: Listed[] = [];
    for await (const { body } of eachPage(client, `/samples?${query}`)) {
      found.push(...(body as Listed[]));
      await onPage?.(body);
    }
    return found;
  }

  it('GET with sort and limit has all records, also those with `infinity`, which other programs store', async () => {
    await create(Array.from({ length: 4 }, () => sampleValues()));
    const [first, second, third, fourth] = ids(await all());
    const set = (values: string) => service.app.get(DataSource).query(`UPDATE samples SET ${values}`);
    await set(`"startsAt" = 'infinity', day = '-infinity' WHERE id IN ('${second}', '${third}')`);
    for (const [sort, expected] of [
      ['startsAt', [first, fourth, second, third]],
      ['-startsAt', [third, second, fourth, first]],
      ['day', [second, third, first, fourth]],
    ] as const) {
      expect(ids(await pages(`sort=${sort}&limit=1`))).toEqual(expected);
    }
    await clear();
  });

  describe('of a few samples', () => {
    let stored: Listed[];

    /** Numbers of the found samples, beginning with 1. */
    const numbersOf = ({ body }: Answer): number[] => ids(body).map((id) => ids(stored).indexOf(id) + 1);
    const numbers = async (query: string): Promise<number[]> => numbersOf(await client.get(`/samples?${query}`));

    beforeAll(async () => {
      await create([
        sampleValues({ points: 2, weight: 0.1, price: '10.00', startsAt: new Date('2026-03-01T12:00:00.001Z') }),
        sampleValues({ points: null, weight: 99.5, status: 'paid', price: '9.99' }),
        sampleValues({
          points: 2,
          weight: 0.30000000000000004,
          startsAt: new Date('2026-03-01T12:00:00.002Z'),
          cookieId: 2,
        }),
        sampleValues({ points: 0, weight: 0.3, price: '-100.50', startsAt: new Date('0999-12-31T23:59:59.999Z') }),
        sampleValues({ points: 2, weight: 0.1, startsAt: new Date('2026-03-01T12:00:00.001Z'), status: 'paid' }),
        sampleValues({ points: null, weight: 5, cookieId: 2, price: '10.01' }),
        sampleValues({ points: 9, weight: 0, price: '12345678.90' }),
      ]);
      stored = await all();
    });

    afterAll(clear);

    it.each([
      ['heavy?weightFrom=1', [2, 6]],
      ['heavy?pointsFrom=2&sort=weight', [7, 1, 5, 3]],
      ['of-cookie?cookieId=2', [3, 6]],
      ['heavy?weightFrom=0.5', 'weightFrom'],
      ['heavy?status=open', 'status'],
      ['of-cookie?sort=-id', 'sort'],
    ])('GET %s accepts the parameters that OmitType or PickType leave to the query class', async (query, expected) => {
      const response = await client.get(`/lists/${query}`);
      const { status, body } = response;
      if (typeof expected === 'string') expect([status, body.details[0].parameter]).toEqual([400, expected]);
      else expect([status, numbersOf(response)]).toEqual([200, expected]);
    });

    it.each([
      ['pointsFrom=3&pointsTo=2', []],
      ['weightFrom=0.30000000000000004', [2, 3, 6]],
      ['startsAtFrom=2026-03-01T14:00:00.002%2B02:00', [3]],
      ['startsAtTo=2026-03-01T06:30:00-05:30', [2, 4, 6, 7]],
      ['priceFrom=9.991&priceTo=10.009', [1]],
      ['priceTo=-100.5', [4]],
    ])('GET with ?%s is 200 with the records within the bounds, in every order', async (query, expected) => {
      expect(await numbers(query)).toEqual(expected);
      const response = await client.get(`/samples?${query}`);
      expect(response.headers.get('x-total-count')).toBeNull();
      for (const sort of ['-id', '-points', 'price']) {
        const sorted = [...(response.body as Listed[])].sort(compare(sort));
        expect(await pages(`${query}&sort=${sort}&limit=2`)).toEqual(sorted);
      }
    });

    it.each(['0', '-12.50', '0.001', '9'.repeat(15), '-0', '-0.00', '01', '1e2', '', '.5', '9'.repeat(16)])(
      'GET with ?priceTo=%s is 200 if its pattern in the document allows it, otherwise 400',
      async (price) => {
        const { parameters = [] } = openApiDocument(service.app).paths['/samples']!.get!;
        const [{ schema }] = parameters.filter((one) => 'name' in one && one.name === 'priceTo') as [any];
        const { status } = await client.get(`/samples?priceTo=${price}`);
        expect(status).toBe(new RegExp(schema.pattern).test(price) ? 200 : 400);
      },
    );

    it('GET with a sort alone has X-Total-Count, and its Link keeps all parameters', async () => {
      const query = 'limit=2&sort=-points&pointsFrom=0&status=open&status=paid';
      const link = (await client.get(`/samples?${query}`)).headers.get('link')!;
      expect(link).toMatch(/&after=[A-Za-z0-9_-]+>; rel="next"$/);
      expect(link.replace(/&after=.*/, '')).toBe(`</samples?${query}`);
      for (const limit of ['', '&limit=1']) {
        const { headers } = await client.get(`/samples?sort=points${limit}`);
        expect(headers.get('x-total-count')).toBe('7');
      }
    });

    it('GET is 200 for any position in the order, with or without a record', async () => {
      const after = (property: string, value: string | number | null, id = UUID_IDS.lowest): string =>
        `sort=${property}&after=${cursorOf(property, { value, id })}`;
      const [one, two] = ids(stored);
      expect(await numbers('sort=points&after=0')).toEqual([4, 1, 3, 5, 7, 2, 6]);
      expect(await numbers(after('points', 2, one))).toEqual([3, 5, 7, 2, 6]);
      expect(await numbers(after('points', 3, one))).toEqual([7, 2, 6]);
      expect(await numbers(after('points', 2 ** 53 - 1, one))).toEqual([2, 6]);
      expect(await numbers(after('points', null, two))).toEqual([6]);
      expect(await numbers(after('weight', null, one))).toEqual([]);
      expect(await numbers(after('weight', -1e300, one))).toEqual([7, 1, 5, 4, 3, 6, 2]);
      expect(await numbers(after('startsAt', '2026-03-01 12:00:00.0015', one))).toEqual([3]);
      expect(await numbers(`${after('points', 2, one)}&pointsFrom=5`)).toEqual([7]);
    });

    it('GET is 200 for a filter of 20 values, and 400 for 21 values', async () => {
      const cookies = (count: number) => Array.from({ length: count }, (_, index) => `cookieId=${index + 1}`).join('&');
      expect(await numbers(cookies(20))).toEqual([1, 2, 3, 4, 5, 6, 7]);
      const { status, body } = await client.get(`/samples?${cookies(21)}`);
      const details = [{ parameter: 'cookieId', message: 'must be given at most 20 times' }];
      expect([status, body.details]).toEqual([400, details]);
    });
  });

  describe('while samples change', () => {
    afterEach(clear);

    it.each(['points', '-points', 'price', 'tip', '-tip'])(
      'pages with sort=%s have each unchanged sample once, in order',
      async (sort) => {
        const values = [null, 3, 2, 2, 2, 0, 0, 0, 1, 5, 5, 5, 5, 9, null, null, 2, 2, 2, 5];
        const valuesOf = (points: number | null) => ({
          ...{ points, tip: points === null ? null : String(points) },
          ...(points !== null && { price: points.toFixed(2) }),
        });
        await create(values.map((points) => sampleValues(valuesOf(points))));
        const before = await all();
        const touched = new Set<string>();
        let round = 0;
        const found = await pages(`sort=${sort}&limit=3`, async (page) => {
          // The last record of the page, which the cursor names, is deleted or moved; others come before and after it.
          const [first, last] = [page.at(0)!, page.at(-1)!];
          round++;
          for (const { id } of [first, last]) touched.add(id);
          if (round % 2 === 0) await store.delete(last.id);
          else await store.update(last.id, valuesOf(round % 3 === 0 ? null : (7 * round) % 10));
          if (first !== last) await store.update(first.id, valuesOf([0, 9, null][round % 3]!));
          if (round < 5) await create([0, 2, 5, 9, null].map((points) => sampleValues(valuesOf(points))));
        });
        const untouched = before.filter(({ id }) => !touched.has(id));
        expect(untouched.length).toBeGreaterThan(3);
        const kept = new Set(ids(untouched));
        expect(found.filter(({ id }) => kept.has(id))).toEqual(untouched.toSorted(compare(sort)));
      },
    );
  });

  it.each(['price', '-price'])('pages with sort=%s have each sample once after arithmetic in SQL', async (sort) => {
    await create(['1.15', '2.35', '2.35', '2.35', '0.10', '33.33', '70.07'].map((price) => sampleValues({ price })));
    await service.app.get(DataSource).query('UPDATE samples SET value = value * 1.1 + 0.1');
    const found = await pages(`sort=${sort}&limit=2`);
    expect(found).toEqual((await all()).sort(compare(sort)));
    await clear();
  });

  describe('of thousands of samples', () => {
    const COUNT = 5000;

    beforeAll(async () => {
      // The values make whole pages of one value, and pages of different values.
      const values = Array.from({ length: COUNT }, (_, index) =>
        sampleValues({
          cookieId: 1 + (index % 2),
          status: index % 1000 === 999 ? 'paid' : 'open',
          points: index % 5 === 0 ? null : index % 3,
          weight: ((index * 7919) % COUNT) / 100,
          startsAt: new Date(Date.UTC(2026, 0, 1) + ((index * 31) % 97)),
        }),
      );
      const dataSource = service.app.get(DataSource);
      await transaction(dataSource, (tx) => store.in(tx).createMany(values));
      if (!isSqlite) await dataSource.query('ANALYZE samples');
    });

    it.each(['points', 'weight', '-startsAt'])(
      'GET with sort=%s without a limit is 200 with all of them, or all that match',
      async (sort) => {
        const expected = (await all()).sort(compare(sort));
        expect(expected).toHaveLength(COUNT);
        const asked: [query: string, matches: (one: Listed) => boolean][] = [
          ['', () => true],
          ['&status=paid', ({ status }) => status === 'paid'],
          [
            '&pointsTo=1&cookieId=1&weightFrom=40',
            ({ points, cookieId, weight }) =>
              points !== null && Number(points) <= 1 && cookieId === 1 && Number(weight) >= 40,
          ],
        ];
        for (const [query, matches] of asked) {
          const { body } = await client.get(`/samples?sort=${sort}${query}`);
          expect(ids(body)).toEqual(ids(expected.filter(matches)));
        }
        expect(ids(await pages(`sort=${sort}&limit=1000`))).toEqual(ids(expected));
      },
    );

    /** Every statement of a whole list and of a page, with its query plan on SQLite. */
    async function plansOf(selection: Selection): Promise<[sql: string, plan: string][]> {
      using snapshot = await store.openSnapshot();
      const inner = (snapshot as unknown as { snapshot: { query(sql: string, parameters: unknown[]): Promise<any[]> } })
        .snapshot;
      const query = inner.query.bind(inner);
      const plans: [string, string][] = [];
      inner.query = async (sql, parameters) => {
        const rows = await query(`EXPLAIN QUERY PLAN ${sql}`, parameters);
        plans.push([sql, rows.map(({ detail }) => detail).join('\n')]);
        return query(sql, parameters);
      };
      let read = 0;
      for await (const page of snapshot.pages(selection)) read += page.count;
      expect(read).toBeGreaterThan(0);
      return plans;
    }

    const RANGES = { points: { from: 1, to: 9 }, startsAt: { to: new Date() }, price: { from: '1', to: '900' } };
    const SELECTIONS: Selection[] = (['points', 'price', 'startsAt'] as const).flatMap((sortBy) =>
      (['ascending', 'descending'] as const).flatMap((order) => [
        { sortBy, order },
        { sortBy, order, filters: { cookieId: [1, 2] } },
        { sortBy, order, filters: { status: ['paid'], cookieId: [2] } },
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
          expect(plan).toMatch(/(SEARCH|SCAN) samples USING (COVERING )?INDEX/);
          if (/ = (CAST|\?)/.test(sql)) expect(plan).toMatch(/=\? AND id[<>]\?/);
        }
      });
  });

  describe('at the start', () => {
    const list = (make: (name: ResourceName) => void): (() => void) => {
      const name = new ResourceName('sample', 'samples', UUID_IDS);
      make(name);
      return () => checkLists(name, store.table);
    };

    it('a sort without an index ends it, with what to add to the entity and to the migration', async () => {
      const name = new ResourceName('sample', 'samples', UUID_IDS);
      ListQueryOf(name, { sorts: { cookieId: 'integer' } });
      const feature = ResourceModule.forFeature({ name, entity: Sample, capacity: () => 1 });
      await expect(startService({}, [feature])).rejects.toThrow(
        `The records of samples cannot be sorted: cookieId has no index together with the id: add @Index(['cookieId', 'id']) to ` +
          `Sample, and to a migration "indices: [['cookieId', 'id']]" of createResourceTable, or for a table that exists ` +
          `queryRunner.createIndex('samples', new TableIndex({ columnNames: ['cookieId', 'id'] }))`,
      );
    });

    it('a sort by a string, another type, or a missing property, or a filter without a column ends it', () => {
      for (const [sorts, message] of [
        [{ status: 'integer' }, 'status is a string, and only'],
        [{ points: 'number' }, 'points as number, but its column is integer'],
        [{ revision: 'integer' }, 'no property "revision"'],
      ] as const) {
        expect(list((name) => ListQueryOf(name, { sorts }))).toThrow(message);
      }
      expect(list((name) => ListQueryOf(name, { sorts: { points: 'integer' } }))).not.toThrow();
      const withProperty = (property: string, decorator: PropertyDecorator) =>
        list((name) => decorator(class extends ListQueryOf(name) {}.prototype, property));
      expect(withProperty('colour', EnumFilter({ enum: ['a'], enumName: 'A' }, ''))).toThrow('no property "colour"');
      expect(withProperty('pointsTo', RangeFilter('date-time', ''))).toThrow(
        'The list of samples declares points as date-time, but its column is integer',
      );
    });

    it('a bound with another name, or in a class that is no list query, is an error', () => {
      const filter = RangeFilter('integer', '');
      expect(() => filter(class extends ListQueryOf(new ResourceName('x')) {}.prototype, 'minPoints')).toThrow(
        '@RangeFilter is for properties such as quantityFrom and quantityTo, not for minPoints',
      );
      expect(() => filter(class Plain {}.prototype, 'pointsFrom')).toThrow(
        'Plain has a filter and must extend ListQueryOf(...)',
      );
    });
  });
});
