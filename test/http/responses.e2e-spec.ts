import { DataSource } from 'typeorm';
import { expectError, expectPlainHeaders } from '../support/expect-error.js';
import { type Answer, Client, COOKIE, type RequestOptions, sharedService, startService } from '../support/service.js';

describe('CORS', () => {
  const ORIGINS = ['https://app.example.com', 'http://localhost:8080'];
  const { service, client } = sharedService({ CORS_ORIGINS: ORIGINS.join(', ') });
  const stranger = Client.bearing(service);

  beforeAll(async () => {
    await client.post(COOKIE);
  });

  const fields = (headers: Headers, name: string): string[] =>
    (headers.get(name) ?? '')
      .split(',')
      .map((field) => field.trim().toLowerCase())
      .filter((field) => field !== '')
      .sort();

  const preflight = (origin: string, method: string): Promise<Answer> =>
    stranger.request('OPTIONS', '/cookies/1', {
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type,if-match',
      },
    });

  it('responds 204 to the preflight of an allowed origin without a token', async () => {
    const [, origin] = ORIGINS;
    const { status, headers, text } = await preflight(origin!, 'PATCH');
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
        ...['traceparent', 'tracestate'],
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

  it.each(['https://app.example.com.evil.example', 'http://app.example.com', 'null'])(
    'gives pages of %s no CORS fields',
    async (origin) => {
      for (const answer of [await client.get('/cookies', { origin }), await preflight(origin, 'PUT')]) {
        expect(answer.headers.get('access-control-allow-origin')).toBeNull();
        expect(fields(answer.headers, 'vary')).toContain('origin');
      }
    },
  );

  it.each<[status: number, errorCode: string, who: 'client' | 'stranger', request: string]>([
    [401, 'UNAUTHENTICATED', 'stranger', 'GET /cookies'],
    [404, 'NOT_FOUND', 'stranger', 'OPTIONS /nowhere'],
    [413, 'PAYLOAD_TOO_LARGE', 'client', 'POST /cookies'],
  ])('lets a page read a %i (%s) as well: of the %s for %s', async (status, errorCode, who, request) => {
    const [method, path] = request.split(' ') as [string, string];
    const body = method === 'POST' ? 'x'.repeat(17_000) : undefined;
    const answer = await { client, stranger }[who].request(method, path, { body, headers: { origin: ORIGINS[0]! } });
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

  it('is off by default', async () => {
    await using plain = await startService();
    const { headers } = await Client.of(plain).get('/cookies', { origin: ORIGINS[0]! });
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(headers.get('vary')).toBe('Authorization');
    expectError(await Client.bearing(plain).request('OPTIONS', '/nowhere'), 404, 'NOT_FOUND');
  });
});

describe('every response', () => {
  const ORIGIN = 'https://app.example.com';
  const { service, client } = sharedService({ CORS_ORIGINS: ORIGIN });
  const stranger = Client.bearing(service);

  beforeAll(async () => {
    // A list of more than 1000 records is streamed.
    await service.app.get(DataSource).sql`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1100)
      INSERT INTO cookies (flavor, size, wish) SELECT 'vanilla', 'small', 'one of many' FROM numbers`;
  });

  it.each<[status: number, request: string, who: 'client' | 'stranger', more?: RequestOptions]>([
    [200, 'GET /cookies/1', 'client'],
    [200, 'GET /cookies', 'client'],
    [201, 'POST /cookies', 'client', { body: COOKIE }],
    [204, 'PATCH /cookies/2', 'client', { body: {} }],
    [204, 'OPTIONS /cookies/1', 'stranger', { headers: { origin: ORIGIN, 'access-control-request-method': 'PUT' } }],
    [304, 'GET /cookies/1', 'client', { headers: { 'if-none-match': '*' } }],
    [200, 'GET /openapi.json', 'stranger'],
    [400, 'POST /cookies', 'client', { body: '{' }],
    [400, 'GET /cookies/%zz', 'client'],
    [404, 'GET /nowhere', 'stranger'],
    [405, 'DELETE /cookies', 'stranger'],
    [413, 'POST /cookies', 'client', { body: 'x'.repeat(17_000) }],
    [415, 'POST /cookies', 'client', { body: 'x', headers: { 'content-type': 'text/plain' } }],
  ])(
    '(%i to %s) has the X-Request-Id of the %s if that is valid, or a new one',
    async (status, request, who, ...[more]) => {
      const [method, path] = request.split(' ') as [string, string];
      const idFor = async (sent: string): Promise<string | null> => {
        const headers = { ...more?.headers, 'x-request-id': sent };
        const answer = await { client, stranger }[who].request(method, path, { ...more, headers });
        expect(answer.status).toBe(status);
        expectPlainHeaders(answer.headers);
        return answer.headers.get('x-request-id');
      };
      for (const id of ['a', 'Trace_1.2-3', 'x'.repeat(128)]) expect(await idFor(id)).toBe(id);
      const invalid = ['', 'x'.repeat(129), 'with blank', '<script>', 'a,b', 'é'];
      const given = new Set<string | null>();
      for (const id of invalid) given.add(await idFor(id));
      expect([given.size, invalid.filter((id) => given.has(id))]).toEqual([6, []]);
    },
  );
});
