import fc from 'fast-check';
import { accepts, acceptsQuery, FLAVORS, isId, MAX_ID, parsed, SIZES } from '../fuzz/contract.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, Client, COOKIE, type Service, startService } from '../support/service.js';

interface Cookie {
  readonly id: number;
  readonly flavor: string;
  readonly size: string;
  readonly wish: string;
}

let client: Client;

// ---- Generators of input.

/** Property names that exist on JavaScript objects, and those of the contract. */
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('flavor', 'size', 'wish', 'id') },
  {
    weight: 3,
    arbitrary: fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'toJSON', 'then', 'length'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }) },
);

/** Any JSON text, also with these names nested; a property may occur twice. */
const { json } = fc.letrec<{ json: string; array: string; object: string; scalar: string }>((tie) => ({
  json: fc.oneof({ maxDepth: 4 }, tie('scalar'), tie('array'), tie('object'), tie('object')),
  scalar: fc
    .oneof(fc.jsonValue({ maxDepth: 0 }), fc.constantFrom(...FLAVORS, ...SIZES))
    .map((value) => JSON.stringify(value)),
  array: fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
  object: fc
    .array(fc.tuple(name, tie('json')), { minLength: 1, maxLength: 4 })
    .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`),
}));

const utf16 = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7ff, max: 0xe000 })), { maxLength: 20 })
  .map((units) => String.fromCharCode(...units));

/** Texts about as long as a wish may be, in letters of one or two UTF-16 units. */
const long = fc
  .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), fc.integer({ min: 250, max: 260 }))
  .map(([letter, count]) => letter.repeat(count));

const wish = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: 'grapheme' }), utf16, long);

const member = (good: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: good.map((value) => JSON.stringify(value)) }, { weight: 1, arbitrary: json });

/** Nearly valid bodies: each single fault is likely, and so is a valid body. */
const nearlyRight = (names: string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.record({
        flavor: member(fc.constantFrom(...FLAVORS)),
        size: member(fc.constantFrom(...SIZES)),
        wish: member(wish),
      }),
      fc.subarray(names, { minLength: names.length - 1 }),
      fc.oneof(
        { weight: 5, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(fc.tuple(name, json), { maxLength: 2 }) },
      ),
    )
    .map(([values, present, more]) => {
      const members: [string, string][] = present.map((key) => [key, values[key as keyof typeof values]]);
      return `{${[...members, ...more].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
    });

const bodies = (names: string[]): fc.Arbitrary<Uint8Array> =>
  fc
    .oneof({ weight: 4, arbitrary: nearlyRight(names) }, { weight: 1, arbitrary: json })
    .map((text) => Buffer.from(text));

/** Valid bodies with one to three changed bytes. */
const damaged = fc
  .tuple(
    fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.boolean()), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('x', '🍪', 'e\u0301', '"\\'),
  )
  .map(([changes, text]) => {
    let bytes = Buffer.from(JSON.stringify({ ...COOKIE, wish: text }));
    for (const [place, byte, insert] of changes) {
      const at = place % bytes.length;
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(insert ? at : at + 1)]);
    }
    return bytes;
  });

// ---- Checks of the responses.

async function revision(): Promise<string> {
  const { status, headers } = await client.request('HEAD', '/cookies?limit=1');
  expect(status).toBe(200);
  return headers.get('etag')!;
}

/** Sends a POST, and checks the response and the stored record by the contract. */
async function tryPost(body: Uint8Array): Promise<void> {
  const before = await revision();
  const answer = await client.post(body);
  if (!accepts(body, ['flavor', 'size', 'wish'], ['flavor', 'size', 'wish'])) return refused(answer, before);
  expect(answer.status).toBe(201);
  const { id } = answer.body;
  const expected = { ...(parsed(body) as object), id };
  expect(answer.body).toEqual(expected);
  expect((await client.get(`/cookies/${id}`)).body).toEqual(expected);
  expect((await client.request('DELETE', `/cookies/${id}`)).status).toBe(204);
}

async function refused(answer: Answer, before: string): Promise<void> {
  expectError(answer, 400, answer.body.errorCode);
  expect(await revision()).toBe(before);
}

function holds<T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>, numRuns: number): Promise<void> {
  return fc.assert(fc.asyncProperty(arbitrary, property), { numRuns });
}

describe('any body', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
  });

  afterAll(() => service.stop());

  it('is stored by POST exactly when the contract allows it, and is returned unchanged', async () => {
    await holds(bodies(['flavor', 'size', 'wish']), tryPost, 150);
  });

  it('that was damaged is stored only if it is still valid', async () => {
    await holds(damaged, tryPost, 120);
  });

  it.each([
    ['PUT', 200, ['flavor', 'size']],
    ['PATCH', 204, []],
  ] as const)('changes a cookie by %s exactly when the contract allows it', async (method, status, required) => {
    const { path, body: made } = await created();
    let current = made;
    await holds(
      bodies(['flavor', 'size']),
      async (body) => {
        const before = await revision();
        const answer = await client.request(method, path, { body });
        if (!accepts(body, ['flavor', 'size'], required)) return refused(answer, before);
        expect(answer.status).toBe(status);
        current = { ...current, ...(parsed(body) as object) };
        expect((await client.get(path)).body).toEqual(current);
      },
      150,
    );
    await client.request('DELETE', path);
  });

  async function created(): Promise<{ path: string; body: Cookie }> {
    const { headers, body } = await client.post(COOKIE);
    return { path: headers.get('location')!, body };
  }
});

describe('of the stored cookies', () => {
  let service: Service;
  /** All combinations of flavor and size. */
  let stored: Cookie[];

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
    for (const flavor of FLAVORS) {
      for (const size of SIZES) await client.post({ flavor, size, wish: `${size} ${flavor}` });
    }
    stored = (await client.get('/cookies')).body;
    expect(stored).toHaveLength(9);
  });

  afterAll(() => service.stop());

  describe('any id', () => {
    const number = fc.oneof(
      fc.bigInt({ min: -20n, max: 20n }),
      fc.bigInt({ min: MAX_ID - 5n, max: MAX_ID + 5n }),
      fc.bigInt(),
    );
    const segment = fc.oneof(
      number.map(String),
      fc
        .tuple(fc.constantFrom('0', '+', ' ', '-', '0x', '00'), number)
        .map(([prefix, value]) => prefix + String(value)),
      fc
        .tuple(number, fc.constantFrom('.0', 'n', ' ', '\n', '\0', 'e1', '/', '?', '#'))
        .map(([value, end]) => String(value) + end),
      fc.double().map(String),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
    );

    it('is found, not found or wrong for each method, as the contract says, and changes no other record', async () => {
      await holds(
        fc.tuple(
          fc.constantFrom('GET', 'GET', 'PUT', 'PATCH', 'DELETE'),
          // `.` and `..` cannot be sent, because URLs resolve them as folders.
          segment.filter((text) => text !== '.' && text !== '..'),
        ),
        async ([method, text]) => {
          const before = await revision();
          const cookie = stored.find(({ id }) => String(id) === text);
          fc.pre(cookie === undefined || method === 'GET');
          const body = method.startsWith('P') ? { flavor: 'vanilla', size: 'small' } : undefined;
          const answer = await client.request(method, `/cookies/${encodeURIComponent(text)}`, { body });
          if (cookie !== undefined) expect(answer.body).toEqual(cookie);
          else if (isId(text)) expectError(answer, 404, 'COOKIE_NOT_FOUND');
          else expectError(answer, 400, 'INVALID_REQUEST');
          expect(await revision()).toBe(before);
        },
        250,
      );
    });
  });

  describe('any query', () => {
    const number = fc
      .oneof(fc.integer({ min: -1, max: 12 }), fc.constantFrom(999, 1000, 1001, 2 ** 53 - 1, 2 ** 53))
      .map(String);
    const odd = fc.oneof(
      fc.constantFrom('', '00', '01', '1.0', '1e0', ' 1', '+1', 'null', 'Vanilla'),
      fc.string({ unit: 'binary', maxLength: 5 }),
    );
    const mostly = (good: fc.Arbitrary<string>) =>
      fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: odd });
    const parameter = fc.oneof(
      fc.tuple(fc.constant('limit'), mostly(number)),
      fc.tuple(fc.constant('after'), mostly(number)),
      fc.tuple(fc.constant('sort'), mostly(fc.constantFrom('id', '-id'))),
      fc.tuple(fc.constant('flavor'), mostly(fc.constantFrom(...FLAVORS))),
      fc.tuple(fc.constant('size'), mostly(fc.constantFrom(...SIZES))),
    );
    const stray = fc.tuple(fc.oneof(name, fc.constantFrom('Limit', 'limit[]', 'wish', '')), odd);
    const parameters = fc.array(fc.oneof({ weight: 30, arbitrary: parameter }, { weight: 1, arbitrary: stray }), {
      maxLength: 5,
    });

    /** The page that the contract promises; `undefined` if the query is invalid. */
    function expectedPage(query: [string, string][]): { records: Cookie[]; more: boolean } | undefined {
      const all = (wanted: string): string[] => query.filter(([key]) => key === wanted).map(([, value]) => value);
      if (!acceptsQuery(query)) return undefined;
      const [[limit], [after = '0'], [sort]] = [all('limit'), all('after'), all('sort')];
      const [flavors, sizes] = [all('flavor'), all('size')];
      const selected = stored.filter(
        ({ flavor, size }) =>
          (flavors.length === 0 || flavors.includes(flavor)) && (sizes.length === 0 || sizes.includes(size)),
      );
      if (sort === '-id') selected.reverse();
      const rest = selected.filter(
        ({ id }) => after === '0' || (sort === '-id' ? id < Number(after) : id > Number(after)),
      );
      const records = rest.slice(0, limit === undefined ? rest.length : Number(limit));
      return { records, more: records.length < rest.length };
    }

    it('gets exactly the matching records, or a 400', async () => {
      await holds(
        parameters,
        async (query) => {
          const text = query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
          const answer = await client.get(`/cookies?${text}`);
          const expected = expectedPage(query);
          if (expected === undefined) return expectError(answer, 400, 'INVALID_REQUEST');
          expect(answer.status).toBe(200);
          expect(answer.body).toEqual(expected.records);
          expect(answer.headers.has('link')).toBe(expected.more);
        },
        300,
      );
    });
  });
});
