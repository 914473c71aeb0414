import { get as httpGet, type IncomingMessage, type RequestOptions } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { engineInUse } from './support/engine.js';
import { expectError, expectErrorHeaders, expectPlainHeaders } from './support/expect-error.js';
import { describeResource } from './support/resource/describe-resource.js';
import { type Answer, Client, COOKIE, type Service, startService, token } from './support/service.js';

await describeResource({
  path: '/cookies',
  // Too long in code points; libraries that ignore variation selectors count 128 characters.
  invalid: { wish: ['❤️'.repeat(128)] },
});

interface Cookie {
  readonly id: number;
  readonly flavor: string;
  readonly size: string;
  readonly wish: string;
}

/** Stores `count` cookies in one statement, in all combinations of flavor and size. */
async function fill(service: Service, count: number, wish: string): Promise<void> {
  await service.app.get(DataSource).sql`
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count} - 1)
    INSERT INTO cookies (flavor, size, wish)
    SELECT CASE n % 3 WHEN 0 THEN 'chocolate' WHEN 1 THEN 'vanilla' ELSE 'cinnamon' END,
           CASE n / 3 % 3 WHEN 0 THEN 'small' WHEN 1 THEN 'medium' ELSE 'large' END, ${wish}
    FROM numbers`;
}

async function create(client: Client, changes: Partial<Cookie> = {}): Promise<{ path: string; etag: string }> {
  const { status, headers } = await client.post({ ...COOKIE, ...changes });
  expect(status).toBe(201);
  return { path: headers.get('location')!, etag: headers.get('etag')! };
}

function inOrder(count: number): number[] {
  return Array.from({ length: count }, (_value, index) => index + 1);
}

const tally = (answers: readonly Answer[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

describe('a cookie', () => {
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
  });

  afterAll(() => service.stop());

  it.each([
    ['255 code points in few visible characters', '👩‍👩‍👧‍👧'.repeat(36) + 'abc'],
    ['variation selectors, which count as well', '❤️'.repeat(127) + '!'],
    ['blanks at both ends', '  \t two \n '],
    ['letters that normalisation would change', 'e\u0301 \u212b ﬁ'],
    ['control characters other than NUL', '\u0001\u001f\u007f\u0085'],
    ['a byte-order mark and noncharacters', '\ufeff\ufffe\uffff\u{10ffff}'],
    ['what SQL would take for its own', `'); DROP TABLE cookies; --`],
    ['what JSON must escape', '"\\/\b\f\u2028'],
  ])('keeps a wish of %s unchanged', async (_name, wish) => {
    const created = await client.post({ ...COOKIE, wish });
    expect(created.status).toBe(201);
    expect(created.body.wish).toBe(wish);
    expect((await client.get(`/cookies/${created.body.id}`)).body.wish).toBe(wish);
  });

  it('HEAD of a path that does not exist returns 404', async () => {
    const answer = await client.request('HEAD', '/nowhere');
    expect(answer.status).toBe(404);
    expectErrorHeaders(answer);
  });
});

describe('ids', () => {
  let service: Service;
  let client: Client;

  beforeEach(async () => {
    service = await startService();
    client = await Client.of(service);
  });

  afterEach(() => service.stop());

  it('begin with 1 and are never used again', async () => {
    expect([(await create(client)).path, (await create(client)).path]).toEqual(['/cookies/1', '/cookies/2']);
    await client.request('DELETE', '/cookies/2');
    expect((await create(client)).path).toBe('/cookies/3');
    for (const id of [1, 3]) await client.request('DELETE', `/cookies/${id}`);
    expect((await create(client)).path).toBe('/cookies/4');
    expect((await client.get('/cookies')).body).toEqual([{ id: 4, ...COOKIE }]);
  });

  it('of another database have other ETags', async () => {
    const other = await startService();
    try {
      const [here, there] = [await create(client), await create(await Client.of(other))];
      expect(there.path).toBe(here.path);
      expect(there.etag).not.toBe(here.etag);
      // A response cached from one database must not match the other one.
      expect((await client.get('/cookies', { 'if-none-match': there.etag })).status).toBe(200);
    } finally {
      await other.stop();
    }
  });
});

describe('the list', () => {
  const COUNT = 1100;
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
    await fill(service, COUNT, 'one of many');
    // From here on the list is cached.
    expect((await client.get('/cookies')).body).toHaveLength(COUNT);
  });

  afterAll(() => service.stop());

  it('follows Link from a request whose target is a complete URL', async () => {
    // Proxies send such targets (RFC 9112 section 3.2.2). The next link must not contain their host name.
    const { port, hostname } = new URL(service.url);
    const response = await responseTo({
      hostname,
      port,
      path: 'http://elsewhere.example/cookies?limit=1',
      headers: { authorization: `Bearer ${await token()}` },
    });
    expect(response.statusCode).toBe(200);
    expect(JSON.parse(await text(response))).toHaveLength(1);
    expect(response.headers['link']).toMatch(/^<\/cookies\?/);
  });

  // The next three tests read from the cache; test/resource/lists.e2e-spec.ts reads lists that are not cached.
  it('returns all records to seventy concurrent requests', async () => {
    const lists = await Promise.all(Array.from({ length: 70 }, () => client.get('/cookies')));
    expect(tally(lists)).toEqual({ 200: 70 });
    for (const { body } of lists) expect(body).toHaveLength(COUNT);
  });

  it('still responds after many clients have left in the middle of it', async () => {
    const { port, hostname } = new URL(service.url);
    const headers = { authorization: `Bearer ${await token()}` };
    for (let left = 0; left < 70; left++) {
      const response = await responseTo({ hostname, port, path: '/cookies', headers });
      response.destroy();
    }
    expect((await client.get('/cookies')).body).toHaveLength(COUNT);
  });

  it('still responds after many HEAD requests for it', async () => {
    for (let asked = 0; asked < 70; asked++) expect((await client.request('HEAD', '/cookies')).status).toBe(200);
    expect((await client.get('/cookies')).body).toHaveLength(COUNT);
  });
});

/** Resolves with the response when its header section has arrived; the body is unread. */
async function responseTo(options: RequestOptions): Promise<IncomingMessage> {
  const [response] = (await once(httpGet({ ...options, agent: false }), 'response')) as [IncomingMessage];
  return response;
}

describe('a list while others write', () => {
  let service: Service;
  let client: Client;

  beforeEach(async () => {
    service = await startService({ COOKIES_CAPACITY: '100000' });
    client = await Client.of(service);
  });

  afterEach(() => service.stop());

  it('shows its first state to a slow reader', async () => {
    // About 13 MB, more than the sockets of both sides buffer: the writes come before the list is read.
    const count = 12_998;
    await fill(service, count, '🍪'.repeat(250));
    const { port, hostname } = new URL(service.url);
    const headers = { authorization: `Bearer ${await token()}` };
    const response = await responseTo({ hostname, port, path: '/cookies', headers });
    const written = [
      await client.request('DELETE', `/cookies/${count}`),
      await client.request('PATCH', `/cookies/${count - 1}`, { body: { flavor: 'chocolate', size: 'medium' } }),
      await client.post(COOKIE),
      await client.request('DELETE', '/cookies/1'),
    ];
    expect(written.map(({ status }) => status)).toEqual([204, 204, 201, 204]);
    const list: Cookie[] = JSON.parse(await text(response));
    expect(list).toHaveLength(count);
    expect(list.map(({ id }) => id)).toEqual(inOrder(count));
    expect(list[count - 2]).toMatchObject({ flavor: 'chocolate', size: 'small' });
    expect(response.headers['x-total-count']).toBe(String(count));
    expect((await client.get('/cookies?sort=-id&limit=2')).body).toEqual([
      { id: count + 1, ...COOKIE },
      expect.objectContaining({ id: count - 1, flavor: 'chocolate', size: 'medium' }),
    ]);
  });
});

/** Describes what no engine sees. */
const describeOnce = engineInUse() === 'sqlite' ? describe : describe.skip;

describeOnce('CORS', () => {
  const ORIGINS = ['https://app.example.com', 'http://localhost:8080'];
  let service: Service;
  let client: Client;
  let stranger: Client;

  beforeAll(async () => {
    service = await startService({ CORS_ORIGINS: ORIGINS.join(', ') });
    client = await Client.of(service);
    stranger = Client.bearing(service);
    await create(client);
  });

  afterAll(() => service.stop());

  const fields = (headers: Headers, name: string): string[] =>
    (headers.get(name) ?? '')
      .split(',')
      .map((field) => field.trim().toLowerCase())
      .filter((field) => field !== '')
      .sort();

  const preflight = (origin: string, method: string, path = '/cookies/1'): Promise<Answer> =>
    stranger.request('OPTIONS', path, {
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type,if-match',
      },
    });

  it.each(ORIGINS)('responds 204 to the preflight of %s without a token', async (origin) => {
    const { status, headers, text } = await preflight(origin, 'PATCH');
    expect(status).toBe(204);
    expect(text).toBe('');
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(fields(headers, 'access-control-allow-methods')).toEqual(
      expect.arrayContaining(['delete', 'get', 'head', 'patch', 'post', 'put']),
    );
    expect(fields(headers, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining([
        ...['authorization', 'content-type', 'idempotency-key', 'if-match', 'if-none-match', 'x-request-id'],
      ]),
    );
    expect(fields(headers, 'vary')).toContain('origin');
    expect(headers.get('access-control-max-age')).toBe('600');
    // Tokens are sent in a header, never as cookies of the browser.
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expectPlainHeaders(headers);
  });

  it('responds to a preflight without Content-Length, which no 204 may have (RFC 9110 section 8.6)', async () => {
    expect((await preflight(ORIGINS[0]!, 'PUT')).headers.get('content-length')).toBeNull();
  });

  it.each(ORIGINS)('lets pages of %s read the response and its header fields', async (origin) => {
    const { status, headers } = await client.get('/cookies?limit=1', { origin });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(fields(headers, 'access-control-expose-headers')).toEqual(
      expect.arrayContaining(['etag', 'idempotency-replayed', 'link', 'location', 'x-request-id', 'x-total-count']),
    );
  });

  it.each(['/cookies', '/cookies/1'])('varies %s by origin and token, also on a 304', async (path) => {
    const full = await client.get(path, { origin: ORIGINS[0]! });
    const unchanged = await client.get(path, { origin: ORIGINS[0]!, 'if-none-match': full.headers.get('etag')! });
    expect(unchanged.status).toBe(304);
    const elsewhere = await client.get(path);
    for (const { headers } of [full, unchanged, elsewhere]) {
      expect(fields(headers, 'vary')).toEqual(['authorization', 'origin']);
    }
    expect(unchanged.headers.get('access-control-allow-origin')).toBe(ORIGINS[0]);
  });

  it.each(['https://evil.example.com', 'https://app.example.com.evil.example', 'http://app.example.com', 'null'])(
    'gives pages of %s no CORS fields',
    async (origin) => {
      for (const answer of [await client.get('/cookies', { origin }), await preflight(origin, 'PUT')]) {
        expect(answer.headers.get('access-control-allow-origin')).toBeNull();
        expect(fields(answer.headers, 'vary')).toContain('origin');
      }
    },
  );

  it.each<[status: number, errorCode: string, ask: () => Promise<Answer>]>([
    [400, 'INVALID_REQUEST', () => client.get('/cookies?limit=0', { origin: ORIGINS[0]! })],
    [401, 'UNAUTHENTICATED', () => stranger.get('/cookies', { origin: ORIGINS[0]! })],
    [404, 'COOKIE_NOT_FOUND', () => client.get('/cookies/99', { origin: ORIGINS[0]! })],
    [404, 'NOT_FOUND', () => client.get('/nowhere', { origin: ORIGINS[0]! })],
    [405, 'METHOD_NOT_ALLOWED', () => client.request('DELETE', '/cookies', { headers: { origin: ORIGINS[0]! } })],
    [413, 'PAYLOAD_TOO_LARGE', () => client.post('x'.repeat(17_000), { origin: ORIGINS[0]! })],
  ])('lets a page read a %i (%s) as well', async (status, errorCode, ask) => {
    const answer = await ask();
    expectError(answer, status, errorCode);
    expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGINS[0]);
    expect(fields(answer.headers, 'access-control-expose-headers')).toContain('x-request-id');
  });

  it('responds to OPTIONS that is no preflight as without CORS', async () => {
    for (const headers of [undefined, { origin: ORIGINS[0]! }]) {
      const { status, headers: answered } = await stranger.request('OPTIONS', '/cookies', { headers });
      expect(status).toBe(204);
      expect(fields(answered, 'allow')).toEqual(['get', 'head', 'options', 'post']);
    }
  });

  it('returns 404 for an unknown path', async () => {
    expectError(await stranger.get('/nowhere'), 404, 'NOT_FOUND');
    expectError(await stranger.request('OPTIONS', '/nowhere'), 404, 'NOT_FOUND');
  });

  it('is off by default', async () => {
    const plain = await startService();
    try {
      const { headers } = await (await Client.of(plain)).get('/cookies', { origin: ORIGINS[0]! });
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(headers.get('vary')).toBe('Authorization');
    } finally {
      await plain.stop();
    }
  });
});

describeOnce('every response', () => {
  const ORIGIN = 'https://app.example.com';
  let service: Service;
  let client: Client;
  let stranger: Client;

  beforeAll(async () => {
    service = await startService({ CORS_ORIGINS: ORIGIN });
    client = await Client.of(service);
    stranger = Client.bearing(service);
    await fill(service, 1100, 'answered');
  });

  afterAll(() => service.stop());

  const preflight = { origin: ORIGIN, 'access-control-request-method': 'PUT' };
  const put = { body: { flavor: 'vanilla', size: 'small' } };

  const ANSWERS: [status: number, name: string, ask: (headers: Record<string, string>) => Promise<Answer>][] = [
    [200, 'a record', (headers) => client.get('/cookies/1', headers)],
    [200, 'a page', (headers) => client.get('/cookies?limit=2', headers)],
    [200, 'a long list', (headers) => client.get('/cookies', headers)],
    [200, 'HEAD', (headers) => client.request('HEAD', '/cookies', { headers })],
    [201, 'POST', (headers) => client.post(COOKIE, headers)],
    [200, 'PUT', (headers) => client.request('PUT', '/cookies/2', { ...put, headers })],
    [204, 'PATCH', (headers) => client.request('PATCH', '/cookies/2', { body: {}, headers })],
    [
      204,
      'a preflight',
      (headers) => stranger.request('OPTIONS', '/cookies/1', { headers: { ...headers, ...preflight } }),
    ],
    [304, 'an unchanged record', (headers) => client.get('/cookies/1', { ...headers, 'if-none-match': '*' })],
    [200, 'the OpenAPI document', (headers) => stranger.get('/openapi.json', headers)],
    [200, 'the documentation', (headers) => stranger.get('/docs', headers)],
    [400, 'a bad body', (headers) => client.post('{', headers)],
    [400, 'a bad path', (headers) => client.get('/cookies/%zz', headers)],
    [401, 'no token', (headers) => stranger.get('/cookies', headers)],
    [404, 'no such record', (headers) => client.get('/cookies/99999', headers)],
    [404, 'no such path', (headers) => stranger.get('/nowhere', headers)],
    [405, 'another method', (headers) => stranger.request('DELETE', '/cookies', { headers })],
    [
      412,
      'a stale If-Match',
      (headers) => client.request('DELETE', '/cookies/1', { headers: { ...headers, 'if-match': '"x"' } }),
    ],
    [413, 'a large body', (headers) => client.post('x'.repeat(17_000), headers)],
    [415, 'a text body', (headers) => client.post('x', { ...headers, 'content-type': 'text/plain' })],
  ];

  it.each(ANSWERS)('(%i, %s) has the X-Request-Id of the client if it is sane', async (status, _name, ask) => {
    for (const id of ['Trace_1.2-3', '<script>']) {
      const { headers, ...answer } = await ask({ 'x-request-id': id });
      expect(answer.status).toBe(status);
      expect(headers.get('x-request-id') === id).toBe(id === 'Trace_1.2-3');
      expectPlainHeaders(headers);
    }
  });

  it('has an X-Request-Id of 1 to 128 letters, digits, dots, dashes and underscores, otherwise a new one', async () => {
    const idFor = async (id: string) =>
      (await client.get('/cookies/1', { 'x-request-id': id })).headers.get('x-request-id');
    for (const id of ['a', 'x'.repeat(128)]) expect(await idFor(id)).toBe(id);
    const made = await Promise.all(['', 'x'.repeat(129), 'with blank', 'a,b', 'é'].map(idFor));
    expect(new Set(made).size).toBe(5);
    for (const id of made) expect(id).toMatch(/^[A-Za-z0-9._-]{10,36}$/);
  });
});

describeOnce('the settings of cookies', () => {
  it('COOKIES_CAPACITY=2 makes the third POST 507, REQUIRE_IF_MATCH=true writes without If-Match 428', async () => {
    await using service = await startService({ REQUIRE_IF_MATCH: 'true', COOKIES_CAPACITY: '2' });
    const client = await Client.of(service);
    const { path, etag } = await create(client);
    await create(client);
    expectError(await client.post(COOKIE), 507, 'STORAGE_FULL');
    const body = { flavor: 'cinnamon', size: 'large' };
    expectError(await client.request('PUT', path, { body }), 428, 'PRECONDITION_REQUIRED');
    expectError(await client.request('DELETE', path), 428, 'PRECONDITION_REQUIRED');
    expect((await client.get('/cookies')).status).toBe(200);
    expect((await client.request('DELETE', path, { headers: { 'if-match': etag } })).status).toBe(204);
  });
});
