import { expectErrorHeaders } from '../expect-error.js';
import { expectRejected, expectStatus, type ResourceResponse } from './checked-client.js';
import { describeErrorOrder } from './error-order.js';
import type { DerivedContract } from './resource-contract.js';
import type { ResourceUnderTest } from './resource-under-test.js';

const BAD_IDS = [
  ...'0 -1 007 1e3 1.5 abc %201 1%0A 1%00 %2B1 1,2 9007199254740992'.split(' '),
  '1'.repeat(8000),
  // The digit one in Arabic-Indic form.
  '%D9%A1',
  // Other spellings of a UUID, which the service rejects, and the nil UUID.
  '01999999-0000-7000-8000-00000000000A',
  '01999999000070008000000000000001',
  '00000000-0000-0000-0000-000000000000',
];

const BAD_QUERIES = [
  'limit= limit=0 limit=01 limit=1001 limit=1.5 limit=ten limit=1&limit=1 limit[]=1 Limit=1',
  'after=-1 after=01 after=9007199254740992 after=1&after=2 after=x',
  'after=01999999-0000-7000-8000-00000000000A after=00000000-0000-0000-0000-000000000000',
  'sort= sort=revision sort=id,-id sort=-id&sort=id id=1 unknown =1 __proto__=1 __proto__[limit]=1 constructor=1',
].flatMap((line) => line.split(' '));

const COLLECTION = ['GET', 'HEAD', 'OPTIONS', 'POST'];
const RECORD = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'PUT'];

/** Tests wrong paths, methods, ids, queries, tokens and scopes, and the order of their errors. */
export function describeRejections(resource: ResourceUnderTest): void {
  resource.describeUnchanged('a request', (record) => {
    describeTargets(resource, record);
    describePermissions(resource, record);
    describeErrorOrder(resource, record);
    describeOptions(resource, record);
  });
}

function describeTargets(resource: ResourceUnderTest, record: () => string): void {
  const { path, contract } = resource;
  const { replace, patch, create, filters, ownReferences, otherParameters = [] } = contract;
  const onRecord: readonly [method: string, body?: object][] = [
    ['GET'],
    ['PUT', replace],
    ['PATCH', patch],
    ['DELETE'],
  ];

  it.each([`${path}/`, `${path}x`, `${path}/1/x`, path.toUpperCase()])('GET %s returns 404', async (target) => {
    expectRejected(await resource.get(target), 404, 'NOT_FOUND');
  });

  it.each(['PUT', 'PATCH', 'DELETE', 'PROPFIND'])('%s to the collection returns 405 with Allow', async (method) => {
    const response = await resource.request(method, path);
    expectRejected(response, 405, 'METHOD_NOT_ALLOWED');
    expect(allowed(response)).toEqual(COLLECTION);
  });

  it.each(['POST', 'MKCOL'])('%s to a record returns 405 with Allow', async (method) => {
    const response = await resource.request(method, record());
    expectRejected(response, 405, 'METHOD_NOT_ALLOWED');
    expect(allowed(response)).toEqual(RECORD);
  });

  it.each(BAD_IDS.map((id) => [shortened(id), id]))('returns 400 for the id %s', async (_id, id) => {
    const response = await resource.get(`${path}/${id}`);
    expectRejected(response, 400, 'INVALID_REQUEST');
    expect(parameters(response)).toEqual(['id']);
  });

  it('for an id that is wrong returns 400, by every method', async () => {
    for (const [method, body] of onRecord) {
      const response = await resource.request(method, `${path}/01`, { body });
      expectRejected(response, 400, 'INVALID_REQUEST');
      expect(parameters(response)).toEqual(['id']);
    }
  });

  it.each(['%zz', '%', '%ff'])('GET of /%s returns 400: its percent-encoding is broken', async (id) => {
    expectRejected(await resource.get(`${path}/${id}`), 400, 'BAD_REQUEST');
  });

  it.each([...BAD_QUERIES, ...badQueriesOf(contract)])('GET of the list returns 400 for ?%s', async (query) => {
    const response = await resource.get(`${path}?${query}`);
    expectRejected(response, 400, 'INVALID_REQUEST');
    expect(parameters(response)).not.toEqual([]);
  });

  it('GET of the list returns 400 that names every wrong parameter, and the valid ones', async () => {
    const names = ['limit', 'after', 'sort', ...Object.keys(filters)];
    const all = await resource.get(`${path}?${names.map((name) => `${name}=`).join('&')}`);
    expect(parameters(all).sort()).toEqual([...names].sort());
    const { body } = await resource.get(`${path}?colour=red`);
    expect(body.message).toMatch(/^colour: is not known here; known are limit, after, sort/);
    const ofService = resource.ofService((await resource.get(record())).body);
    const known = body.message
      .split('known are ')[1]
      .split(', ')
      .filter((name: string) => !/(From|To)$/.test(name) && !(name in ofService))
      .filter((name: string) => ![...ownReferences, ...otherParameters].includes(name));
    expect(known.sort()).toEqual([...names].sort());
  });

  it.each(['limit=1', '__proto__=1'])('other than GET of the list returns 400 for ?%s', async (query) => {
    for (const [method, body] of onRecord) {
      const response = await resource.request(method, `${record()}?${query}`, { body });
      expectRejected(response, 400, 'INVALID_REQUEST');
      expect(parameters(response)).toEqual([query.split('=')[0]]);
    }
    const post = await resource.request('POST', `${path}?${query}`, { body: create });
    expectRejected(post, 400, 'INVALID_REQUEST');
  });

  it('for a record that does not exist returns 404, also for the greatest id, and PUT makes none', async () => {
    for (const [method, body] of onRecord) {
      expectRejected(await resource.request(method, resource.nowhere, { body }), 404, resource.notFoundCode);
    }
  });
}

/** Wrong queries of a list: filters with wrong values, and properties that are not filters. */
function badQueriesOf({ create, filters, ownReferences, wrong: invalid }: DerivedContract): string[] {
  const ofFilters = Object.entries(filters).flatMap(([name, values]) => {
    const [one, other] = values.map(String) as [string, string];
    const again = (value: string): string => `=${one}&${name}=${value}`;
    // A number in a query is a string.
    const texts = typeof values[0] === 'string' ? invalid.filter(({ pointer }) => pointer === `/${name}`) : [];
    const wrong = texts.flatMap(({ value }) => (typeof value === 'string' && value !== '' ? value : []));
    const encoded = wrong.map((value) => `=${encodeURIComponent(value)}`);
    const rests = ['=', again(one), again(''), `=${one},${other}`, `=${one}%20`, `[]=${one}`, '=%zz'];
    return [...rests, ...encoded].map((rest) => name + rest);
  });
  const others = Object.keys(create).filter((name) => !Object.hasOwn(filters, name) && !ownReferences.includes(name));
  return [...ofFilters, ...others.slice(0, 1).map((name) => `${name}=1`)];
}

function describePermissions(resource: ResourceUnderTest, record: () => string): void {
  const { path, name, contract } = resource;
  const { create, replace, patch } = contract;
  const operations = (): readonly [method: string, path: string, scope: string, body?: object][] => [
    ['GET', path, 'read'],
    ['GET', record(), 'read'],
    ['POST', path, 'write', create],
    ['PUT', record(), 'write', replace],
    ['PATCH', record(), 'write', patch],
    ['DELETE', record(), 'write'],
  ];
  const isOpen = (method: string, target: string): boolean => method === 'GET' && resource.isPublic(target);

  it('without a token, or with a wrong one, returns 401 with WWW-Authenticate, by every method', async () => {
    for (const [method, target, , body] of operations()) {
      const bare = await resource.stranger.request(method, target, { body });
      if (isOpen(method, target)) expectStatus(bare, 200);
      else {
        expectRejected(bare, 401, 'UNAUTHENTICATED');
        expect(bare.headers.get('www-authenticate')).toBe('Bearer realm="cookies"');
      }
      const headers = { authorization: 'Bearer x' };
      const wrong = await resource.stranger.request(method, target, { body, headers });
      expectRejected(wrong, 401, 'INVALID_TOKEN');
      expect(wrong.headers.get('www-authenticate')).toMatch(/^Bearer realm="cookies", error="invalid_token"/);
    }
  });

  it('without its scope returns 403 with WWW-Authenticate, by every method', async () => {
    for (const [method, target, scope, body] of operations()) {
      const client = scope === 'read' ? resource.writer : resource.reader;
      const response = await client.request(method, target, { body });
      if (isOpen(method, target)) {
        expectStatus(response, 200);
        continue;
      }
      expectRejected(response, 403, 'INSUFFICIENT_SCOPE');
      const challenge = `Bearer realm="cookies", error="insufficient_scope", scope="${name}:${scope}"`;
      expect(response.headers.get('www-authenticate')).toBe(challenge);
    }
  });

  it('with the scopes of another resource returns 403', async () => {
    const other = resource.clientWith('other:read other:write');
    for (const [method, target, , body] of operations().filter(([each, at]) => !isOpen(each, at))) {
      expectRejected(await other.request(method, target, { body }), 403, 'INSUFFICIENT_SCOPE');
    }
  });
}

function describeOptions(resource: ResourceUnderTest, record: () => string): void {
  const { path } = resource;

  it('OPTIONS returns 204 with Allow to anyone, and for a record with Accept-Patch', async () => {
    const all = await resource.stranger.request('OPTIONS', path);
    const one = await resource.stranger.request('OPTIONS', record());
    for (const response of [all, one]) {
      expectStatus(response, 204);
      expect(response.text).toBe('');
    }
    expect([allowed(all), allowed(one)]).toEqual([COLLECTION, RECORD]);
    expect(all.headers.get('accept-patch')).toBeNull();
    expect(one.headers.get('accept-patch')).toBe('application/json, application/merge-patch+json');
  });

  it('HEAD returns the status of the error that GET returns, without a body', async () => {
    for (const [status, target] of [
      [404, resource.nowhere],
      [400, `${path}/0`],
      [400, `${path}?limit=0`],
    ] as const) {
      const head = await resource.request('HEAD', target);
      expectStatus(head, status);
      expect(head.text).toBe('');
      expectErrorHeaders(head);
    }
    const denied = await resource.stranger.request('HEAD', path);
    expectStatus(denied, resource.isPublic(path) ? 200 : 401);
    if (!resource.isPublic(path)) expect(denied.headers.get('www-authenticate')).toBe('Bearer realm="cookies"');
  });
}

const allowed = ({ headers }: ResourceResponse): string[] => headers.get('allow')!.split(', ').sort();

const parameters = ({ body }: ResourceResponse): string[] =>
  body.details.map(({ parameter }: { parameter: string }) => parameter);

const shortened = (id: string): string => (id.length > 40 ? `${id.slice(0, 40)}… (${id.length})` : id);
