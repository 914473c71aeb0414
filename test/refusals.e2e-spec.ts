import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expectError } from './support/expect-error.js';
import { exchange, exchangeOne, request } from './support/raw-http.js';
import {
  type Answer,
  Client,
  COOKIE,
  type RequestOptions,
  type Service,
  startService,
  token,
} from './support/service.js';

const LIMIT = 16 * 1024;
const PUT = { flavor: 'cinnamon', size: 'large' };
const NO_COOKIE = '/cookies/4242';

let service: Service;
let client: Client;
let stranger: Client;
let reader: Client;
let bearer: string;

beforeAll(async () => {
  service = await startService({ COOKIES_CAPACITY: '1' });
  client = await Client.of(service);
  stranger = Client.bearing(service);
  reader = await Client.of(service, { scope: 'cookies:read' });
  bearer = `Authorization: Bearer ${await token()}`;
  // The only place is taken: whatever refuses a POST other than 507 has come before the capacity.
  expect((await client.post(COOKIE)).status).toBe(201);
});

afterAll(() => service.stop());

/** A refused request has changed nothing: neither the records nor, finer, the revision behind the ETags. */
async function unchanged<T>(act: () => Promise<T>): Promise<T> {
  const state = async () => {
    const { text, headers } = await client.get('/cookies');
    return createHash('sha256').update(text).update(headers.get('etag')!).digest('hex');
  };
  const before = await state();
  const result = await act();
  expect(await state()).toBe(before);
  return result;
}

type Refusal = [
  status: number,
  errorCode: string,
  what: string,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
];

const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);
const json = (text: string): string => text;
const wish = (text: string): object => ({ ...COOKIE, wish: text });
const deep = (open: string, close: string): string =>
  `{"flavor":"vanilla","size":"small","wish":${open.repeat(2500)}1${close.repeat(2500)}}`;
const cookieOf = (size: number): string => JSON.stringify(COOKIE).padEnd(size);
const type = (contentType: string): Record<string, string> => ({ 'content-type': contentType });

const ID_METHODS: [method: string, body?: unknown][] = [['GET'], ['PUT', PUT], ['PATCH', {}], ['DELETE']];
const BAD_IDS = [
  '0',
  '-0',
  '-1',
  '+1',
  '00',
  '007',
  '1e3',
  '0x10',
  '0b1',
  '1_000',
  '1.5',
  '1.0',
  '1n',
  'Infinity',
  'NaN',
  'null',
  'abc',
  '%201',
  '1%20',
  '1%0A',
  '1%00',
  '%2B1',
  '%D9%A1', // an Arabic-Indic digit one
  '%EF%BC%91', // a fullwidth digit one
  '1,2',
  '1;2',
  '1%2F2',
  '9007199254740992',
  '9007199254740993',
  '18446744073709551616',
  '1'.repeat(400),
  '1'.repeat(8000),
];

const BAD_QUERIES = [
  'limit=',
  'limit=0',
  'limit=01',
  'limit=1001',
  'limit=-1',
  'limit=1.5',
  'limit=1e2',
  'limit=%201',
  'limit=ten',
  'limit=9007199254740993',
  'limit=1&limit=1',
  'limit=1&limit=2',
  'limit[]=1',
  'limit[gt]=1',
  'limit',
  'Limit=1',
  'after=',
  'after=-1',
  'after=00',
  'after=01',
  'after=9007199254740992',
  'after=1&after=2',
  'after=x',
  'sort=',
  'sort=flavor',
  'sort=ID',
  'sort=%2Bid',
  'sort=id,-id',
  'sort=id&sort=id',
  'sort=-id&sort=id',
  'flavor=',
  'flavor=Vanilla',
  'flavor=vanilla%20',
  'flavor=vanilla,cinnamon',
  'flavor=vanilla&flavor=vanilla',
  'flavor=vanilla&flavor=mint',
  'flavor[]=vanilla',
  'flavor[0]=vanilla',
  'flavor=%zz',
  'size=',
  'size=SMALL',
  'size=small&size=small',
  'size=xl',
  'wish=x',
  'id=1',
  'offset=0',
  'page=1',
  'unknown',
  '=1',
  '__proto__=1',
  '__proto__[limit]=1',
  'constructor=1',
  'hasOwnProperty=1',
  'toString=1',
  'limit=1&__proto__=1',
];

/** What members of a POST body may not be. */
const BAD_MEMBERS: [what: string, body: unknown][] = [
  ['no flavor', { size: 'small', wish: 'x' }],
  ['no size', { flavor: 'vanilla', wish: 'x' }],
  ['no wish', { flavor: 'vanilla', size: 'small' }],
  ['no member at all', {}],
  ['another flavor', { ...COOKIE, flavor: 'mint' }],
  ['a flavor in capitals', { ...COOKIE, flavor: 'Vanilla' }],
  ['a flavor with a blank', { ...COOKIE, flavor: ' vanilla' }],
  ['an empty flavor', { ...COOKIE, flavor: '' }],
  ['a flavor that is null', { ...COOKIE, flavor: null }],
  ['a flavor in an array', { ...COOKIE, flavor: ['vanilla'] }],
  ['a flavor that every object has', { ...COOKIE, flavor: 'constructor' }],
  ['another size', { ...COOKIE, size: 'xl' }],
  ['a size that is a number', { ...COOKIE, size: 1 }],
  ['a size that is true', { ...COOKIE, size: true }],
  ['an empty wish', wish('')],
  ['a wish of 256 letters', wish('x'.repeat(256))],
  ['a wish of 256 emoji', wish('🍪'.repeat(256))],
  ['a wish of 256 code points in few characters', wish('❤️'.repeat(128))],
  ['a wish with NUL', wish('a\0b')],
  ['a wish that is NUL', wish('\0')],
  ['a wish with a lone high surrogate', json(String.raw`{"flavor":"vanilla","size":"small","wish":"a\ud83cb"}`)],
  ['a wish with a lone low surrogate', json(String.raw`{"flavor":"vanilla","size":"small","wish":"\udf6a"}`)],
  [
    'a wish with surrogates in the wrong order',
    json(String.raw`{"flavor":"vanilla","size":"small","wish":"\udf6a\ud83c"}`),
  ],
  ['a wish that is a number', { ...COOKIE, wish: 12345 }],
  ['a wish that is null', { ...COOKIE, wish: null }],
  ['a wish that is true', { ...COOKIE, wish: true }],
  ['a wish that is an array', { ...COOKIE, wish: ['x'] }],
  ['a wish that is an empty array', { ...COOKIE, wish: [] }],
  ['a wish that is an object', { ...COOKIE, wish: {} }],
  ['a wish that is an object with a length', { ...COOKIE, wish: { length: 5 } }],
  ['a wish that is an object with a constructor', { ...COOKIE, wish: { constructor: 'x' } }],
  ['a flavor that is an object with a constructor', { ...COOKIE, flavor: { constructor: { name: 'x' } } }],
  ['a size that is an array of an object with a constructor', { ...COOKIE, size: [{ constructor: 1 }] }],
  [
    'a wish that is an object with a prototype',
    json('{"flavor":"vanilla","size":"small","wish":{"__proto__":{"a":1}}}'),
  ],
  ['a wish that is an object with methods', { ...COOKIE, wish: { toString: 'x', valueOf: 1, then: true, toJSON: 1 } }],
  ['a wish that is arrays all the way down', json(deep('[', ']'))],
  ['a wish that is objects all the way down', json(deep('{"":', '}'))],
  ['an id', { ...COOKIE, id: 7 }],
  ['an unknown member', { ...COOKIE, color: 'red' }],
  ['an unknown member that is null', { ...COOKIE, color: null }],
  ['a member with an empty name', { ...COOKIE, '': 1 }],
  ['a member in capitals', { ...COOKIE, Wish: 'x' }],
  ['a revision', { ...COOKIE, revision: 9 }],
  ['a __proto__', json('{"flavor":"vanilla","size":"small","wish":"x","__proto__":{}}')],
  ['the members in a __proto__', json('{"__proto__":{"flavor":"vanilla","size":"small","wish":"x"}}')],
  ['a constructor', { ...COOKIE, constructor: { prototype: {} } }],
  ['a prototype', { ...COOKIE, prototype: {} }],
  ['a toString', { ...COOKIE, toString: 'x' }],
  ['a hasOwnProperty', { ...COOKIE, hasOwnProperty: 1 }],
  ['a wish given twice, the last of them bad', json('{"flavor":"vanilla","size":"small","wish":"x","wish":""}')],
];

const BAD_CHANGES: [what: string, body: unknown][] = [
  ['a wish', { ...PUT, wish: 'x' }],
  ['a wish that is null', { ...PUT, wish: null }],
  ['an id', { ...PUT, id: 1 }],
  ['an unknown member', { ...PUT, color: 'red' }],
  ['a flavor that is null', { ...PUT, flavor: null }],
  ['a size that is null', { ...PUT, size: null }],
  ['another flavor', { ...PUT, flavor: 'Cinnamon' }],
  ['another size', { ...PUT, size: 'huge' }],
  ['a flavor that is a number', { ...PUT, flavor: 0 }],
  ['a flavor in an array', { ...PUT, flavor: ['cinnamon'] }],
  ['a flavor that is an object with a constructor', { ...PUT, flavor: { constructor: 'x' } }],
  ['a __proto__', json('{"flavor":"cinnamon","size":"large","__proto__":{}}')],
  ['a constructor', { ...PUT, constructor: 1 }],
  ['a size given twice, the last of them bad', json('{"flavor":"cinnamon","size":"large","size":"xl"}')],
];

const NOT_OBJECTS: [what: string, body: unknown][] = [
  ['null', json('null')],
  ['an array', json('[]')],
  ['an array of a cookie', [COOKIE]],
  ['a number', json('1')],
  ['a text', json('"vanilla"')],
  ['true', json('true')],
];

const MALFORMED: [what: string, body: unknown][] = [
  ['nothing', json('')],
  ['blanks', json(' \n ')],
  ['half an object', json('{"flavor":"vanilla"')],
  ['two objects', json('{}{}')],
  ['a trailing comma', json('{"flavor":"vanilla",}')],
  ['single quotes', json("{'flavor':'vanilla'}")],
  ['a comment', json('{} // none')],
  ['NaN', json('{"flavor":NaN}')],
  ['undefined', json('undefined')],
  ['a raw line end in a text', json('{"flavor":"vanilla","size":"small","wish":"a\nb"}')],
  ['a byte-order mark', Buffer.from(`\ufeff${JSON.stringify(COOKIE)}`)],
  ['a byte-order mark alone', bytes(0xef, 0xbb, 0xbf)],
  ['invalid UTF-8', Buffer.from('{"flavor":"vanilla","size":"small","wish":"\xff"}', 'latin1')],
  ['overlong UTF-8', Buffer.concat([Buffer.from('{"wish":"'), bytes(0xc0, 0x80), Buffer.from('"}')])],
  ['a surrogate in UTF-8', Buffer.concat([Buffer.from('{"wish":"'), bytes(0xed, 0xa0, 0x80), Buffer.from('"}')])],
  ['UTF-8 cut off', Buffer.concat([Buffer.from('{"wish":"'), bytes(0xf0, 0x9f, 0x8d)])],
  ['UTF-16', Buffer.from(JSON.stringify(COOKIE), 'utf16le')],
  ['NUL bytes', bytes(0, 0, 0)],
  ['a form', json('flavor=vanilla&size=small&wish=x')],
];

const BAD_TYPES: [what: string, headers: Record<string, string>][] = [
  ['text', type('text/plain')],
  ['a form', type('application/x-www-form-urlencoded')],
  ['a form in parts', type('multipart/form-data; boundary=x')],
  ['XML', type('application/xml')],
  ['JSON of another kind', type('application/problem+json')],
  ['something that begins like JSON', type('application/json5')],
  ['JSON as text', type('text/json')],
  ['JSON in latin1', type('application/json; charset=latin1')],
  ['JSON in ISO 8859-1', type('application/json; charset="iso-8859-1"')],
  ['JSON in UTF-16', type('application/json; charset=utf-16')],
  ['JSON with gzip', { 'content-encoding': 'gzip' }],
  ['JSON with several codings', { 'content-encoding': 'identity, br' }],
  ['no word', type('')],
  ['no subtype', type('application')],
  ['no type', type('/json')],
  ['a blank inside', type('application / json')],
  ['a parameter without a value', type('application/json; charset')],
  ['two types', type('application/json, text/plain')],
  ['nonsense', type(';;;')],
];

const REFUSALS: Refusal[] = [
  ...[
    '/',
    '/cookie',
    '/cookies/',
    '/Cookies',
    '/COOKIES/1',
    '/cookies/1/',
    '/cookies/1/wish',
    '/cookies;a=1',
    '/health/live',
    '/metrics',
    '/.env',
    '/%63ookie',
  ].map((path): Refusal => [404, 'NOT_FOUND', 'there is nothing there', 'GET', path]),
  ...['PUT', 'PATCH', 'DELETE', 'PROPFIND'].map((method): Refusal => [
    405,
    'METHOD_NOT_ALLOWED',
    'the collection has no such method',
    method,
    '/cookies',
  ]),
  ...['POST', 'MKCOL'].map((method): Refusal => [
    405,
    'METHOD_NOT_ALLOWED',
    'a record has no such method',
    method,
    '/cookies/1',
  ]),
  [405, 'METHOD_NOT_ALLOWED', 'the document can only be read', 'DELETE', '/openapi.json'],
  [413, 'PAYLOAD_TOO_LARGE', 'the body is one byte too long', 'POST', '/cookies', cookieOf(LIMIT + 1)],
  [413, 'PAYLOAD_TOO_LARGE', 'the body is far too long', 'PATCH', '/cookies/1', ' '.repeat(1_000_000)],
  [
    413,
    'PAYLOAD_TOO_LARGE',
    'the body is too long for any type',
    'PUT',
    '/cookies/1',
    'x'.repeat(20_000),
    type('text/plain'),
  ],
  ...BAD_IDS.flatMap((id) =>
    ID_METHODS.map(([method, body]): Refusal => [
      400,
      'INVALID_REQUEST',
      'the id is none',
      method,
      `/cookies/${id}`,
      body,
    ]),
  ),
  ...['%zz', '%', '%1', '%c0%80', '%ff'].map((id): Refusal => [
    400,
    'BAD_REQUEST',
    'the percent-encoding is broken',
    'GET',
    `/cookies/${id}`,
  ]),
  ...BAD_QUERIES.map((query): Refusal => [400, 'INVALID_REQUEST', 'the query is bad', 'GET', `/cookies?${query}`]),
  ...['limit=1', 'flavor=vanilla', '__proto__=1', 'x', '=1'].flatMap((query) => [
    ...ID_METHODS.map(([method, body]): Refusal => [
      400,
      'INVALID_REQUEST',
      'it takes no parameters',
      method,
      `/cookies/1?${query}`,
      body,
    ]),
    [400, 'INVALID_REQUEST', 'it takes no parameters', 'POST', `/cookies?${query}`, COOKIE] satisfies Refusal,
  ]),
  ...BAD_TYPES.flatMap(([what, headers]): Refusal[] => [
    [415, 'UNSUPPORTED_MEDIA_TYPE', what, 'POST', '/cookies', COOKIE, headers],
    [415, 'UNSUPPORTED_MEDIA_TYPE', what, 'PUT', '/cookies/1', PUT, headers],
    [415, 'UNSUPPORTED_MEDIA_TYPE', what, 'PATCH', '/cookies/1', {}, headers],
  ]),
  [
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'only PATCH merges',
    'POST',
    '/cookies',
    COOKIE,
    type('application/merge-patch+json'),
  ],
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'only PATCH merges', 'PUT', '/cookies/1', PUT, type('application/merge-patch+json')],
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'JSON Patch', 'PATCH', '/cookies/1', [], type('application/json-patch+json')],
  [
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'truly gzip',
    'POST',
    '/cookies',
    gzipSync(JSON.stringify(COOKIE)),
    { 'content-encoding': 'gzip' },
  ],
  ...[...MALFORMED].flatMap(([what, body]): Refusal[] => [
    [400, 'MALFORMED_JSON', what, 'POST', '/cookies', body],
    [400, 'MALFORMED_JSON', what, 'PUT', '/cookies/1', body],
    [400, 'MALFORMED_JSON', what, 'PATCH', '/cookies/1', body],
  ]),
  [400, 'MALFORMED_JSON', 'no body, no type', 'POST', '/cookies'],
  [400, 'MALFORMED_JSON', 'no body, no type', 'PUT', '/cookies/1'],
  [400, 'MALFORMED_JSON', 'no body, no type', 'PATCH', '/cookies/1'],
  ...NOT_OBJECTS.flatMap(([what, body]): Refusal[] => [
    [400, 'INVALID_REQUEST', what, 'POST', '/cookies', body],
    [400, 'INVALID_REQUEST', what, 'PUT', '/cookies/1', body],
    [400, 'INVALID_REQUEST', what, 'PATCH', '/cookies/1', body],
  ]),
  ...BAD_MEMBERS.map(([what, body]): Refusal => [400, 'INVALID_REQUEST', what, 'POST', '/cookies', body]),
  ...BAD_CHANGES.flatMap(([what, body]): Refusal[] => [
    [400, 'INVALID_REQUEST', what, 'PUT', '/cookies/1', body],
    [400, 'INVALID_REQUEST', what, 'PATCH', '/cookies/1', body],
  ]),
  [400, 'INVALID_REQUEST', 'no size', 'PUT', '/cookies/1', { flavor: 'vanilla' }],
  [400, 'INVALID_REQUEST', 'no flavor', 'PUT', '/cookies/1', { size: 'small' }],
  [400, 'INVALID_REQUEST', 'no member at all', 'PUT', '/cookies/1', {}],
  [404, 'COOKIE_NOT_FOUND', 'no such record', 'GET', NO_COOKIE],
  [404, 'COOKIE_NOT_FOUND', 'no such record, and PUT makes none', 'PUT', NO_COOKIE, PUT],
  [404, 'COOKIE_NOT_FOUND', 'no such record', 'PATCH', NO_COOKIE, {}],
  [404, 'COOKIE_NOT_FOUND', 'no such record', 'DELETE', NO_COOKIE],
  [412, 'PRECONDITION_FAILED', 'the record is another by now', 'PUT', '/cookies/1', PUT, { 'if-match': '"old"' }],
  [412, 'PRECONDITION_FAILED', 'the record is another by now', 'PATCH', '/cookies/1', {}, { 'if-match': '"old"' }],
  [
    412,
    'PRECONDITION_FAILED',
    'the record is another by now',
    'DELETE',
    '/cookies/1',
    undefined,
    { 'if-match': '"old"' },
  ],
  [507, 'STORAGE_FULL', 'no place is free', 'POST', '/cookies', COOKIE],
];

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}… (${text.length})` : text);

describe('a bad request', () => {
  it.each(
    REFUSALS.map(([status, errorCode, what, method, path, body, headers]) => ({
      name: `${status} ${errorCode}: ${method} ${shortened(path)} (${what})`,
      refusal: [status, errorCode, what, method, path, body, headers] as Refusal,
    })),
  )('gets $name', async ({ refusal: [status, errorCode, , method, path, body, headers] }) => {
    const answer = await unchanged(() => client.request(method, path, { body, headers }));
    expectError(answer, status, errorCode);
  });
});

describe('details', () => {
  it.each<[what: string, body: unknown, pointers: string[]]>([
    ['one member', { ...COOKIE, wish: '' }, ['/wish']],
    ['every member', { flavor: 1, size: 2, wish: 3 }, ['/flavor', '/size', '/wish']],
    ['members that are missing', {}, ['/flavor', '/size', '/wish']],
    ['unknown members, in the notation of RFC 6901', { ...COOKIE, 'a/b~c': 1, '': 2 }, ['/a~1b~0c', '/']],
    ['the whole body', [], ['']],
  ])('point to %s', async (_what, body, pointers) => {
    const { body: error } = await client.post(body);
    expect(error.details.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([...pointers].sort());
  });

  it.each<[path: string, parameters: string[]]>([
    ['/cookies?limit=0', ['limit']],
    ['/cookies?limit=x&after=y&sort=z', ['after', 'limit', 'sort']],
    ['/cookies?flavor=mint', ['flavor']],
    ['/cookies?colour=red', ['colour']],
    ['/cookies/x', ['id']],
    ['/cookies/1?x=1', ['x']],
  ])('name the parameters at fault in %s', async (path, parameters) => {
    const { body: error } = await client.get(path);
    expect(error.details.map(({ parameter }: { parameter: string }) => parameter).sort()).toEqual(parameters);
  });

  it('are none for malformed JSON', async () => {
    expect((await client.post('{')).body).not.toHaveProperty('details');
  });
});

describe('the headers of a refusal', () => {
  it('tell with 405 what is possible', async () => {
    const { headers } = await stranger.request('PUT', '/cookies');
    expect(headers.get('allow')!.split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
  });

  it('tell with 415 what a PATCH may be', async () => {
    const { headers } = await client.request('PATCH', '/cookies/1', { body: {}, headers: type('text/plain') });
    expect(headers.get('accept-patch')).toBe('application/json, application/merge-patch+json');
  });
});

describe('of two faults', () => {
  // In the order in which they are found: each request has the fault of its row, and as many later ones as it can.
  const order: [status: number, errorCode: string, what: string, ask: () => Promise<Answer>][] = [
    [
      404,
      'NOT_FOUND',
      'an unknown route before the method, size and token',
      () => stranger.request('PROPFIND', '/nowhere?x=1', oversized),
    ],
    [405, 'METHOD_NOT_ALLOWED', 'the method before the size', () => stranger.request('PUT', '/cookies?x=1', oversized)],
    [405, 'METHOD_NOT_ALLOWED', 'the method before a malformed id', () => stranger.request('POST', '/cookies/abc')],
    [400, 'BAD_REQUEST', 'broken percent-encoding before the token', () => stranger.get('/cookies/%zz')],
    [413, 'PAYLOAD_TOO_LARGE', 'the size before the token', () => stranger.request('POST', '/cookies', oversized)],
    [413, 'PAYLOAD_TOO_LARGE', 'the size before the scope', () => reader.request('POST', '/cookies', oversized)],
    [
      413,
      'PAYLOAD_TOO_LARGE',
      'the size before the id, query and type',
      () => client.request('PUT', '/cookies/abc?x=1', oversized),
    ],
    [401, 'UNAUTHENTICATED', 'no token before a malformed id', () => stranger.get('/cookies/abc')],
    [401, 'UNAUTHENTICATED', 'no token before the query', () => stranger.get('/cookies?limit=0')],
    [401, 'UNAUTHENTICATED', 'no token before the type', () => stranger.post('x', type('text/plain'))],
    [401, 'UNAUTHENTICATED', 'no token before a malformed type', () => stranger.post('x', type('nonsense'))],
    [401, 'UNAUTHENTICATED', 'no token before malformed JSON', () => stranger.post('{')],
    [401, 'UNAUTHENTICATED', 'no token before invalid UTF-8', () => stranger.post(bytes(0xff))],
    [401, 'UNAUTHENTICATED', 'no token before no body', () => stranger.request('POST', '/cookies')],
    [401, 'UNAUTHENTICATED', 'no token before the record', () => stranger.get(NO_COOKIE)],
    [401, 'UNAUTHENTICATED', 'no token before the precondition', () => stranger.request('DELETE', '/cookies/1', stale)],
    [401, 'UNAUTHENTICATED', 'no token before the capacity', () => stranger.post(COOKIE)],
    [
      401,
      'INVALID_TOKEN',
      'a bad token before everything of the body',
      () => stranger.post('{', { authorization: 'Bearer x' }),
    ],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before a malformed id', () => reader.request('DELETE', '/cookies/abc')],
    [
      403,
      'INSUFFICIENT_SCOPE',
      'the scope before the query',
      () => reader.request('POST', '/cookies?x=1', { body: COOKIE }),
    ],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before the type', () => reader.post('x', type('text/plain'))],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before malformed JSON', () => reader.post('{')],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before the record', () => reader.request('DELETE', NO_COOKIE)],
    [403, 'INSUFFICIENT_SCOPE', 'the scope before the capacity', () => reader.post(COOKIE)],
    [
      400,
      'INVALID_REQUEST',
      'a malformed id before the type',
      () => client.request('PUT', '/cookies/abc', { body: 'x', headers: type('text/plain') }),
    ],
    [
      400,
      'INVALID_REQUEST',
      'the query before the type',
      () => client.request('POST', '/cookies?x=1', { body: 'x', headers: type('text/plain') }),
    ],
    [
      400,
      'INVALID_REQUEST',
      'the query before malformed JSON',
      () => client.request('PATCH', '/cookies/1?x=1', { body: '{' }),
    ],
    [
      400,
      'INVALID_REQUEST',
      'a malformed id before malformed JSON',
      () => client.request('PATCH', '/cookies/0', { body: '{' }),
    ],
    [
      400,
      'INVALID_REQUEST',
      'a malformed id before the precondition',
      () => client.request('DELETE', '/cookies/0', stale),
    ],
    [415, 'UNSUPPORTED_MEDIA_TYPE', 'the type before malformed JSON', () => client.post('{', type('text/plain'))],
    [
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'the type before the record',
      () => client.request('PUT', NO_COOKIE, { body: PUT, headers: type('text/plain') }),
    ],
    [415, 'UNSUPPORTED_MEDIA_TYPE', 'the type before the capacity', () => client.post(COOKIE, type('text/plain'))],
    [400, 'MALFORMED_JSON', 'malformed JSON before the record', () => client.request('PUT', NO_COOKIE, { body: '{' })],
    [
      400,
      'INVALID_REQUEST',
      'the body before the record',
      () => client.request('PATCH', NO_COOKIE, { body: { size: 'xl' } }),
    ],
    [
      400,
      'INVALID_REQUEST',
      'the body before the precondition',
      () => client.request('PUT', '/cookies/1', { body: {}, ...stale }),
    ],
    [400, 'INVALID_REQUEST', 'the body before the capacity', () => client.post({})],
    [404, 'COOKIE_NOT_FOUND', 'the record before the precondition', () => client.request('DELETE', NO_COOKIE, stale)],
  ];
  const oversized: RequestOptions = { body: '{'.repeat(LIMIT + 1), headers: type('text/plain') };
  const stale: RequestOptions = { headers: { 'if-match': '"old"' } };

  it.each(order)('%i %s wins: %s', async (status, errorCode, _what, ask) => {
    expectError(await unchanged(ask), status, errorCode);
  });

  it('404 wins over 428 where If-Match is required, and 428 over nothing else', async () => {
    const strict = await startService({ REQUIRE_IF_MATCH: 'true' });
    try {
      const careful = await Client.of(strict);
      await careful.post(COOKIE);
      expectError(await careful.request('DELETE', NO_COOKIE), 404, 'COOKIE_NOT_FOUND');
      expectError(await careful.request('PUT', '/cookies/1', { body: {} }), 400, 'INVALID_REQUEST');
      expectError(await careful.request('PUT', '/cookies/1', { body: PUT }), 428, 'PRECONDITION_REQUIRED');
    } finally {
      await strict.stop();
    }
  });
});

describe('a request that only a socket can send', () => {
  const HOST = 'Host: localhost';
  const CLOSE = 'Connection: close';
  const JSON_TYPE = 'Content-Type: application/json';
  const body = JSON.stringify(COOKIE);

  /** A POST whose body is framed by `framing`. */
  const post = (framing: string[], sent: string | Buffer): Buffer =>
    request(['POST /cookies HTTP/1.1', HOST, CLOSE, bearer, JSON_TYPE, ...framing], sent);
  const get = (line: string, ...lines: string[]): Buffer => request([line, HOST, CLOSE, bearer, ...lines]);

  it.each<[status: number, errorCode: string, what: string, bytes: () => Buffer]>([
    [400, 'BAD_REQUEST', 'garbage', () => Buffer.from('garbage\r\n\r\n')],
    [400, 'BAD_REQUEST', 'the hello of TLS', () => Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc])],
    [400, 'BAD_REQUEST', 'the preface of HTTP/2', () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
    [400, 'BAD_REQUEST', 'an unknown method', () => get('BREW /cookies HTTP/1.1')],
    [400, 'BAD_REQUEST', 'a method in small letters', () => get('get /cookies HTTP/1.1')],
    [400, 'BAD_REQUEST', 'a blank in the path', () => get('GET /cookies /1 HTTP/1.1')],
    [400, 'BAD_REQUEST', 'another protocol', () => get('GET /cookies SIP/2.0')],
    [400, 'BAD_REQUEST', 'no Host', () => request(['GET /cookies HTTP/1.1', CLOSE, bearer])],
    [400, 'BAD_REQUEST', 'no Host and no token', () => request(['GET /cookies HTTP/1.1', CLOSE])],
    [
      400,
      'BAD_REQUEST',
      'two Hosts (RFC 9112 section 3.2)',
      () => get('GET /cookies HTTP/1.1', 'Host: elsewhere.example'),
    ],
    [400, 'BAD_REQUEST', 'a header without a colon', () => get('GET /cookies HTTP/1.1', 'nonsense')],
    [400, 'BAD_REQUEST', 'a header with a blank in its name', () => get('GET /cookies HTTP/1.1', 'Bad Name: x')],
    [400, 'BAD_REQUEST', 'a header with a control character', () => get('GET /cookies HTTP/1.1', 'X-A: a\0b')],
    [400, 'BAD_REQUEST', 'broken percent-encoding', () => get('GET /cookies/%zz HTTP/1.1')],
    [400, 'INVALID_REQUEST', 'a dot in percent-encoding for an id', () => get('GET /cookies/%2E HTTP/1.1')],
    [400, 'BAD_REQUEST', 'broken percent-encoding without a token', () => request(['GET /%zz HTTP/1.1', HOST, CLOSE])],
    [
      431,
      'REQUEST_HEADER_FIELDS_TOO_LARGE',
      'an oversized header',
      () => get('GET /cookies HTTP/1.1', `X-A: ${'x'.repeat(20_000)}`),
    ],
    [
      431,
      'REQUEST_HEADER_FIELDS_TOO_LARGE',
      'an oversized target',
      () => get(`GET /cookies/${'1'.repeat(20_000)} HTTP/1.1`),
    ],
    [404, 'NOT_FOUND', 'OPTIONS *', () => request(['OPTIONS * HTTP/1.1', HOST, CLOSE])],
    [404, 'NOT_FOUND', 'two slashes', () => get('GET //cookies HTTP/1.1')],
    [404, 'NOT_FOUND', 'a path that goes up', () => get('GET /cookies/../cookies HTTP/1.1')],
    [404, 'NOT_FOUND', 'a whole URL of nothing', () => get('GET http://localhost/nowhere HTTP/1.1')],
    [
      401,
      'UNAUTHENTICATED',
      'a whole URL without a token',
      () => request(['GET http://localhost/cookies HTTP/1.1', HOST, CLOSE]),
    ],
    [
      400,
      'INVALID_REQUEST',
      'a whole URL with a bad query',
      () => get('GET http://localhost/cookies?limit=0 HTTP/1.1'),
    ],
    [405, 'METHOD_NOT_ALLOWED', 'TRACE', () => request(['TRACE /cookies HTTP/1.1', HOST, CLOSE])],
    [405, 'METHOD_NOT_ALLOWED', 'CONNECT', () => request(['CONNECT localhost:443 HTTP/1.1', HOST, CLOSE])],
    [
      417,
      'EXPECTATION_FAILED',
      'an Expect of the impossible',
      () => get('GET /cookies HTTP/1.1', 'Expect: the-impossible'),
    ],
    [
      413,
      'PAYLOAD_TOO_LARGE',
      'a length over the limit',
      () => post([`Content-Length: ${LIMIT + 1}`], cookieOf(LIMIT + 1)),
    ],
    [413, 'PAYLOAD_TOO_LARGE', 'a length beyond all numbers', () => post(['Content-Length: 9007199254740991'], 'x')],
    [
      413,
      'PAYLOAD_TOO_LARGE',
      'chunks over the limit',
      () => post(['Transfer-Encoding: chunked'], chunks(...Array<string>(5).fill(' '.repeat(4000)))),
    ],
    [
      413,
      'PAYLOAD_TOO_LARGE',
      'chunks over the limit without a token',
      () =>
        request(
          ['POST /cookies HTTP/1.1', HOST, CLOSE, JSON_TYPE, 'Transfer-Encoding: chunked'],
          chunks(' '.repeat(LIMIT + 1)),
        ),
    ],
    [400, 'BAD_REQUEST', 'a length that is no number', () => post(['Content-Length: ten'], body)],
    [400, 'BAD_REQUEST', 'a negative length', () => post(['Content-Length: -1'], body)],
    [400, 'BAD_REQUEST', 'two lengths', () => post([`Content-Length: ${body.length}`, 'Content-Length: 3'], body)],
    [
      400,
      'BAD_REQUEST',
      'a length beside chunks, as smugglers send it',
      () => post([`Content-Length: 3`, 'Transfer-Encoding: chunked'], chunks(body)),
    ],
    [400, 'BAD_REQUEST', 'a coding after chunked', () => post(['Transfer-Encoding: chunked, identity'], chunks(body))],
    [
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'a body without a type',
      () => request(['POST /cookies HTTP/1.1', HOST, CLOSE, bearer, `Content-Length: ${body.length}`], body),
    ],
    [400, 'MALFORMED_JSON', 'no chunk but the last', () => post(['Transfer-Encoding: chunked'], chunks())],
  ])('gets %i %s: %s', async (status, errorCode, _what, bytes) => {
    expectError(await unchanged(() => exchangeOne(service, bytes())), status, errorCode);
  });

  it.each<[status: number, what: string, bytes: () => Buffer]>([
    [400, 'no Host', () => request(['GET /cookies HTTP/1.1', CLOSE, 'X-Request-Id: mine'])],
    [404, 'OPTIONS *', () => request(['OPTIONS * HTTP/1.1', HOST, CLOSE, 'X-Request-Id: mine'])],
    [400, 'broken percent-encoding', () => get('GET /cookies/%zz HTTP/1.1', 'X-Request-Id: mine')],
    [405, 'TRACE', () => request(['TRACE /cookies HTTP/1.1', HOST, CLOSE, 'X-Request-Id: mine'])],
    [405, 'CONNECT', () => request(['CONNECT localhost:443 HTTP/1.1', HOST, 'X-Request-Id: mine'])],
    [417, 'an Expect of the impossible', () => get('GET /cookies HTTP/1.1', 'Expect: x', 'X-Request-Id: mine')],
  ])('finds its X-Request-Id in the %i: %s', async (status, _what, bytes) => {
    const answer = await exchangeOne(service, bytes());
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-request-id')).toBe('mine');
  });

  it.each(['CONNECT localhost:443 HTTP/1.1', 'TRACE /cookies HTTP/1.1'])(
    'is told what is allowed with the 405 to %s (RFC 9110 section 15.5.6)',
    async (line) => {
      const { headers } = await exchangeOne(service, request([line, HOST, CLOSE]));
      expect(headers.get('allow')).not.toBeNull();
    },
  );

  it('is refused when its body ends before its length', async () => {
    const bytes = post([`Content-Length: ${body.length + 10}`], body);
    await unchanged(async () => {
      for (const answer of await exchange(service, bytes, { end: true })) expectError(answer, 400, 'BAD_REQUEST');
    });
  });

  it('is refused when its body goes on after its length', async () => {
    const bytes = request(
      ['POST /cookies HTTP/1.1', HOST, bearer, JSON_TYPE, `Content-Length: ${body.length - 1}`],
      `${body}garbage\r\n\r\n`,
    );
    // Node may refuse the rest before the first part is answered; either answer tells that the whole is wrong.
    const answers = await unchanged(() => exchange(service, bytes));
    expect(answers).not.toHaveLength(0);
    for (const answer of answers) expectError(answer, 400, answer.body.errorCode);
  });

  it('does not keep the next request of its connection from an answer', async () => {
    const bytes = Buffer.concat([
      request(['GET /cookies/abc HTTP/1.1', HOST, bearer]),
      request(['PUT /cookies HTTP/1.1', HOST, 'Content-Length: 3'], 'abc'),
      get('GET /cookies/1 HTTP/1.1'),
    ]);
    const answers = await exchange(service, bytes);
    expect(answers.map(({ status }) => status)).toEqual([400, 405, 200]);
    expect(answers[2]!.body).toEqual({ id: 1, ...COOKIE });
  });
});

/** A body in chunks. */
function chunks(...texts: string[]): string {
  const parts = texts.map((text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  return `${parts.join('')}0\r\n\r\n`;
}

describe('what is near to a fault and is none', () => {
  let roomy: Service;
  let welcome: Client;

  beforeAll(async () => {
    roomy = await startService();
    welcome = await Client.of(roomy);
  });

  afterAll(() => roomy.stop());

  const near: [what: string, body: unknown, headers?: Record<string, string>][] = [
    ['a body of exactly 16 KiB', cookieOf(LIMIT)],
    [
      'a member given twice, the last of them good',
      json('{"flavor":"mint","wish":"","flavor":"vanilla","size":"small","wish":"x"}'),
    ],
    ['blanks around the object', json(` \r\n\t${JSON.stringify(COOKIE)} \n`)],
    ['members with escapes', json(String.raw`{"fl\u0061vor":"vanilla","size":"sm\u0061ll","wish":"\ud83c\udf6a"}`)],
    ['255 emoji', wish('🍪'.repeat(255))],
    ['a charset', COOKIE, type('application/json; charset=utf-8')],
    ['a charset in capitals and quotes', COOKIE, type('application/json;charset="UTF-8"')],
    ['a type in capitals', COOKIE, type('APPLICATION/JSON')],
    ['an unknown parameter of the type', COOKIE, type('application/json; profile=x')],
    ['an empty parameter of the type (RFC 9110 section 5.6.6)', COOKIE, type('application/json;')],
    ['the coding that is none', COOKIE, { 'content-encoding': 'identity' }],
    ['an Accept of something else', COOKIE, { accept: 'text/html' }],
  ];

  it.each(near.map(([what, body, headers]) => ({ what, body, headers })))(
    'stores a cookie from $what',
    async ({ body, headers }) => {
      expect((await welcome.post(body, headers)).status).toBe(201);
    },
  );

  const lines = ['POST /cookies HTTP/1.1', 'Host: localhost', 'Connection: close', 'Content-Type: application/json'];
  const body = JSON.stringify(COOKIE);

  it('stores a cookie from a body in chunks', async () => {
    const sent = request([...lines, bearer, 'Transfer-Encoding: chunked'], chunks(body.slice(0, 5), body.slice(5)));
    expect((await exchangeOne(roomy, sent)).status).toBe(201);
  });

  it('stores a cookie from a client that waits for 100 (Continue)', async () => {
    const sent = request([...lines, bearer, 'Expect: 100-continue', `Content-Length: ${body.length}`], body);
    expect((await exchangeOne(roomy, sent)).status).toBe(201);
  });

  it('tells of a stored cookie with 201, whatever nonsense follows on its connection', async () => {
    const count = async () => (await welcome.get('/cookies?limit=1')).headers.get('x-total-count');
    const before = Number(await count());
    const kept = lines.filter((line) => !line.startsWith('Connection'));
    const sent = request([...kept, bearer, `Content-Length: ${body.length}`], `${body}garbage\r\n\r\n`);
    const [first] = await exchange(roomy, sent);
    expect({ status: first!.status, count: Number(await count()) }).toEqual({ status: 201, count: before + 1 });
  });

  it('answers a whole URL as the target', async () => {
    const sent = request(['GET http://localhost/cookies HTTP/1.1', 'Host: localhost', 'Connection: close', bearer]);
    expect((await exchangeOne(roomy, sent)).status).toBe(200);
  });

  it('answers HTTP/1.0 without a Host', async () => {
    expect((await exchangeOne(roomy, request(['GET /cookies HTTP/1.0', bearer]))).status).toBe(200);
  });

  it.each(['?', '?limit=1000', '?limit=1&after=0', '?after=9007199254740991', '?flavor=%76anilla', '?sort=%2Did'])(
    'answers GET /cookies%s',
    async (query) => {
      expect((await welcome.get(`/cookies${query}`)).status).toBe(200);
    },
  );
});
