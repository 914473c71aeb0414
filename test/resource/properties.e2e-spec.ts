import fc from 'fast-check';
import { accepts, FLAVORS, parsed, SIZES } from '../fuzz/contract.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, Client, COOKIE, type Service, startService } from '../support/service.js';

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
    const created = await client.post(COOKIE);
    const path = created.headers.get('location')!;
    let current = created.body;
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
});
