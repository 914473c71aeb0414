import { expectRejected, expectStatus } from './checked-client.js';
import { expectRecords, follow, recordsOf, type Stored } from './pages.js';
import { extremeValues, NO_NUMBERS, ofValue, wrongValues } from './property-values.js';
import type { RangeBound } from './resource-contract.js';
import type { ResourceUnderTest } from './resource-under-test.js';

const COUNT = 120;

/** Texts that are no valid value of a parameter, by the kind of value. */
const WRONG_TEXTS: Readonly<Record<string, readonly string[]>> = {
  integer: [...NO_NUMBERS, '1.5', '1.0', '9007199254740992', '1'.repeat(400)],
  number: [...NO_NUMBERS, '1'.repeat(400)],
  decimal: [...NO_NUMBERS, '1'.repeat(16)],
};

/** Values in a cursor, as JSON, that no record can have. */
const WRONG_CURSORS: Readonly<Record<string, readonly string[]>> = {
  integer: ['1.5', '"1"', 'true', '9007199254740992', '-0', '1e0', '[]', '{}'],
  number: ['"1"', 'true', '1e999', '-0', '01', '[]'],
  decimal: ['true', '1e999', '"1e3"', '"-0"', '"-0.00"', '"x"', '""', '"1111111111111111"'],
  date: ['1', '"2026-02-30"', '"2026-02-29"', '"0000-01-01"', '"10000-01-01"', '"2026-1-31"', '"\\ud83c"', '""'],
  'date-time': [
    ...['1', '"2026-02-30 12:00:00.000"', '"0000-01-01 00:00:00.000"', '"10000-01-01 00:00:00.000"', '"x"'],
    ...['"2026-01-31T12:00:00.000Z"', '"2026-01-31 24:00:00.000"', '"2026-01-31 12:00:00.0000000"'],
  ],
};

/** Ids in a cursor, as JSON, that no record can have. */
const WRONG_IDS = ['0', '-1', '1.5', 'null', '"x"', '9007199254740992', '"01999999-0000-7000-8000-00000000000A"'];

/** Tests ranges, sorts and their cursors. Does nothing for a resource without them. */
export function describeRanges(resource: ResourceUnderTest): void {
  const { path, contract } = resource;
  const { bounds, sorts, filters } = contract.ranges;
  if (bounds.length + filters.length + Object.keys(sorts).length === 0) return;

  describe('a list by ranges and sorts', () => {
    let all: Stored[];

    beforeAll(async () => {
      await resource.empty();
      await resource.create();
      const properties = [...filters, ...Object.keys(sorts), ...bounds.map(({ property }) => property)];
      await resource.fillTo(COUNT, [...new Set(properties)]);
      const list = await resource.get(path);
      expectStatus(list, 200);
      all = list.body;
    });

    const kindOf = ({ schema: { type, format } }: RangeBound): string => (type === 'string' ? format : type);
    /** The first of each kind. All properties of a kind share their checks. */
    const ofEachKind = <T>(all: readonly (readonly [string, T])[], kind: (each: T) => string) =>
      all.filter(([, each], index) => all.findIndex(([, other]) => kind(other) === kind(each)) === index);
    const withValue = (property: string): Stored[] => all.filter((each) => each[property] !== null);
    const inOrder = (records: readonly Stored[], property: string, kind: string): Stored[] =>
      [...records].sort(
        (one, other) => comparable(one[property], kind) - comparable(other[property], kind) || compareIds(one, other),
      );

    eachOf(Object.entries(sorts))(
      'GET returns records in the order of %s, whole and in pages',
      async (property, kind) => {
        const ascending = inOrder(withValue(property), property, kind);
        const without = all.filter((each) => each[property] === null);
        expect(new Set(ascending.map((each) => each[property])).size).toBeGreaterThan(1);
        for (const [sort, expected] of [
          [property, [...ascending, ...without]],
          [`-${property}`, [...ascending.toReversed(), ...without.toReversed()]],
        ] as const) {
          expectRecords(sort, (await resource.get(`${path}?sort=${sort}`)).body, expected);
          const pages = await follow(resource, `${path}?sort=${sort}&limit=37`);
          expectRecords(sort, recordsOf(pages), expected);
        }
      },
    );

    eachOf(filters)('GET with %s, which the service sets, returns exactly the records that fit', async (name) => {
      const values = new Set(all.map((each) => each[name]).filter((value) => value !== null));
      expect(values.size).toBeGreaterThan(0);
      for (const value of values) {
        const query = `${name}=${encodeURIComponent(value as string)}`;
        const expected = all.filter((each) => each[name] === value);
        expectRecords(query, (await resource.get(`${path}?${query}`)).body, expected);
      }
    });

    const named = bounds.map((bound) => [bound.name, bound] as const);
    eachOf(named)('GET with %s returns exactly the records that fit', async (name, bound) => {
      const { property, isStart } = bound;
      const kind = kindOf(bound);
      const values = inOrder(withValue(property), property, kind);
      for (const place of [0, Math.floor(values.length / 2), values.length - 1]) {
        const limit = values[place]![property];
        const fits = (each: Stored): boolean =>
          each[property] !== null &&
          (isStart ? 1 : -1) * (comparable(each[property], kind) - comparable(limit, kind)) >= 0;
        const query = `${name}=${encodeURIComponent(String(limit))}`;
        const list = await resource.get(`${path}?${query}`);
        expectRecords(query, list.body, all.filter(fits));
        const pages = await follow(resource, `${path}?${query}&sort=-id&limit=50`);
        expectRecords(query, recordsOf(pages), all.filter(fits).reverse());
      }
    });

    eachOf(ofEachKind(named, kindOf))('GET returns 400 for a wrong %s, and names it', async (name, bound) => {
      const { minimum, maximum } = bound.schema;
      const outside = [minimum - 1, maximum + 1].filter(Number.isSafeInteger).map(String);
      const ofKind = WRONG_TEXTS[kindOf(bound)] ?? textsOf(bound.schema);
      const right = encodeURIComponent(String(all[0]![bound.property] ?? minimum ?? 1));
      const wrong = [...ofKind, ...outside].map((text) => `=${encodeURIComponent(text)}`);
      for (const rest of [...wrong, `=${right}&${name}=${right}`, `[]=${right}`, '=%zz', '=%ff']) {
        const response = await resource.get(`${path}?${name}${rest}`);
        expectRejected(response, 400, response.body?.errorCode === 'BAD_REQUEST' ? 'BAD_REQUEST' : 'INVALID_REQUEST');
      }
    });

    eachOf(ofEachKind(Object.entries(sorts), (kind) => kind))(
      'GET returns 400 for a cursor of %s that no page has',
      async (property, kind) => {
        const page = await resource.get(`${path}?sort=${property}&limit=1`);
        const link = /after=([^&>]+)/.exec(page.headers.get('link')!)![1]!;
        const [, value, id] = JSON.parse(Buffer.from(link, 'base64url').toString()) as [string, unknown, unknown];
        const made = (text: string): string => Buffer.from(text).toString('base64url');
        const [name, known, last] = [property, value, id].map((each) => JSON.stringify(each));
        expect(made(`[${name},${known},${last}]`)).toBe(link);
        const ofOther = made(`["other",${known},${last}]`);
        const ofIds = WRONG_IDS.map((each) => made(`[${name},${known},${each}]`));
        const ofValues = WRONG_CURSORS[kind]!.map((each) => made(`[${name},${each},${last}]`));
        const malformed = ['[]', '{}', 'x', `[${name}, ${known},${last}]`].map(made);
        const others = [`${link}=`, `${link}AAAA`, link.slice(1), '', '1', '%zz'];
        for (const after of [ofOther, ...ofIds, ...ofValues, ...malformed, ...others]) {
          const response = await resource.get(`${path}?sort=${property}&limit=1&after=${after}`);
          expectRejected(response, 400, after === '%zz' ? response.body.errorCode : 'INVALID_REQUEST');
        }
        expectRejected(await resource.get(`${path}?after=${link}`), 400, 'INVALID_REQUEST');
      },
    );
  });
}

/** `it.each` that also accepts an empty table: a list may have sorts without ranges, or ranges without sorts. */
const eachOf = ((table: readonly []) =>
  table.length === 0 ? () => undefined : it.each(table)) as unknown as typeof it.each;

/** A number that sorts like the value. */
function comparable(value: unknown, kind: string): number {
  return kind === 'date' || kind === 'date-time' ? Date.parse(value as string) : Number(value);
}

const compareIds = ({ id: one }: Stored, { id: other }: Stored): number => (one < other ? -1 : 1);

/** Wrong values of a schema that are strings. */
function textsOf(schema: any): string[] {
  const wrong = wrongValues('value', schema, (each) => each).map(({ value }) => value);
  return wrong.filter((value) => typeof value === 'string');
}

/** Values of a property as an entity has them, for records in turn; the first is `null` if that is allowed. */
export function variedValues(schema: any, resolve: (schema: any) => any): readonly unknown[] {
  const { format, minimum = -1, maximum = 1, type } = ofValue(schema, resolve);
  const nothing = resolve(schema).nullable ? [null] : [];
  const isNumber = type === 'integer' || type === 'number';
  const step = (maximum - minimum) / 7;
  const middle = [1, 2, 3, 4, 5, 6].map((count) => (type === 'integer' ? Math.floor : Number)(minimum + count * step));
  const values = isNumber ? [minimum, ...middle, maximum] : extremeValues(schema, resolve).map(([, stored]) => stored);
  const known = values.filter((value) => value !== null);
  return [...nothing, ...(format === 'date-time' ? known.map((value) => new Date(value as string)) : known)];
}
