import { get as httpGet, type IncomingMessage, type RequestOptions } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { expectError, expectPlainHeaders } from '../support/expect-error.js';
import { type Answer, Client, COOKIE, type Service, startService, token } from '../support/service.js';

/** Stores `count` cookies in one statement. */
async function fill(service: Service, count: number): Promise<void> {
  await service.app.get(DataSource).sql`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO cookies (flavor, size, wish) SELECT 'vanilla', 'small', 'one of many' FROM numbers`;
}

describe('a cached list', () => {
  const COUNT = 2500;
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
    await fill(service, COUNT);
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

  // test/resource/lists.e2e-spec.ts reads lists that are not cached.
  it('returns all records to seventy concurrent requests', async () => {
    const lists = await Promise.all(Array.from({ length: 70 }, () => client.get('/cookies')));
    expect(lists.filter(({ status, body }) => status !== 200 || body.length !== COUNT)).toEqual([]);
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

describe('CORS', () => {
  const ORIGINS = ['https://app.example.com', 'http://localhost:8080'];
  let service: Service;
  let client: Client;
  let stranger: Client;

  beforeAll(async () => {
    service = await startService({ CORS_ORIGINS: ORIGINS.join(', ') });
    client = await Client.of(service);
    stranger = Client.bearing(service);
    await client.post(COOKIE);
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
    // No 204 may have it (RFC 9110 section 8.6).
    expect(headers.get('content-length')).toBeNull();
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

  it('returns 404 to OPTIONS of an unknown path', async () => {
    expectError(await stranger.request('OPTIONS', '/nowhere'), 404, 'NOT_FOUND');
  });

  it('is off by default', async () => {
    await using plain = await startService();
    const { headers } = await (await Client.of(plain)).get('/cookies', { origin: ORIGINS[0]! });
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(headers.get('vary')).toBe('Authorization');
    expectError(await Client.bearing(plain).request('OPTIONS', '/nowhere'), 404, 'NOT_FOUND');
  });
});

describe('every response', () => {
  const ORIGIN = 'https://app.example.com';
  let service: Service;
  let client: Client;
  let stranger: Client;

  beforeAll(async () => {
    service = await startService({ CORS_ORIGINS: ORIGIN });
    client = await Client.of(service);
    stranger = Client.bearing(service);
    await fill(service, 1100);
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
    [404, 'HEAD of no such path', (headers) => stranger.request('HEAD', '/nowhere', { headers })],
    [405, 'another method', (headers) => stranger.request('DELETE', '/cookies', { headers })],
    [
      412,
      'a stale If-Match',
      (headers) => client.request('DELETE', '/cookies/1', { headers: { ...headers, 'if-match': '"x"' } }),
    ],
    [413, 'a large body', (headers) => client.post('x'.repeat(17_000), headers)],
    [415, 'a text body', (headers) => client.post('x', { ...headers, 'content-type': 'text/plain' })],
  ];

  it.each(ANSWERS)('(%i, %s) has the X-Request-Id of a client that has a sane one', async (status, _name, ask) => {
    for (const id of ['a', 'Trace_1.2-3', 'x'.repeat(128)]) {
      const { headers, ...answer } = await ask({ 'x-request-id': id });
      expect(answer.status).toBe(status);
      expect(headers.get('x-request-id')).toBe(id);
      expectPlainHeaders(headers);
    }
  });

  it.each(ANSWERS)('(%i, %s) has a new X-Request-Id otherwise', async (status, _name, ask) => {
    const seen = new Set<string>();
    for (const id of ['', 'x'.repeat(129), 'with blank', '<script>', 'a,b', 'é']) {
      const { headers, ...answer } = await ask({ 'x-request-id': id });
      expect(answer.status).toBe(status);
      expectPlainHeaders(headers);
      expect(headers.get('x-request-id')).not.toBe(id);
      seen.add(headers.get('x-request-id')!);
    }
    expect(seen.size).toBe(6);
  });
});
