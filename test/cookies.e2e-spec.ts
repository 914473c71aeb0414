import { get as httpGet, type IncomingMessage, type RequestOptions } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { expectError, expectErrorHeaders, expectPlainHeaders } from './support/expect-error.js';
import { type Answer, Client, COOKIE, type Service, startService, token } from './support/service.js';

const FLAVORS = ['chocolate', 'vanilla', 'cinnamon'];
const SIZES = ['small', 'medium', 'large'];
const STRONG_ETAG = /^"[\x21\x23-\x7e]+"$/;

interface Cookie {
  readonly id: number;
  readonly flavor: string;
  readonly size: string;
  readonly wish: string;
}

/** Stores `count` cookies in one statement; every flavor meets every size. */
async function fill(service: Service, count: number, wish: string): Promise<void> {
  await service.app.get(DataSource).transaction(async (transaction) => {
    await transaction.sql`
      WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count} - 1)
      INSERT INTO cookies (flavor, size, wish, revision)
      SELECT CASE n % 3 WHEN 0 THEN 'chocolate' WHEN 1 THEN 'vanilla' ELSE 'cinnamon' END,
             CASE n / 3 % 3 WHEN 0 THEN 'small' WHEN 1 THEN 'medium' ELSE 'large' END, ${wish}, 1
      FROM numbers`;
    await transaction.sql`
      UPDATE storage SET used = used + ${count}, revision = revision + 1 WHERE resource = 'cookies'`;
  });
}

async function create(client: Client, changes: Partial<Cookie> = {}): Promise<{ path: string; etag: string }> {
  const { status, headers } = await client.post({ ...COOKIE, ...changes });
  expect(status).toBe(201);
  return { path: headers.get('location')!, etag: headers.get('etag')! };
}

async function etagOf(client: Client, path: string): Promise<string> {
  const { status, headers } = await client.get(path);
  expect(status).toBe(200);
  return headers.get('etag')!;
}

function inOrder(count: number): number[] {
  return Array.from({ length: count }, (_value, index) => index + 1);
}

const ids = ({ body }: Answer): number[] => body.map(({ id }: Cookie) => id);

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

  it('is created with 201, the record, its place and its ETag', async () => {
    const created = await client.post(COOKIE);
    expect(created.status).toBe(201);
    const { id } = created.body;
    expect(created.body).toEqual({ id, ...COOKIE });
    expect(created.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(created.headers.get('location')).toBe(`/cookies/${id}`);
    expect(created.headers.get('etag')).toMatch(STRONG_ETAG);
  });

  it('is read as it was created', async () => {
    const created = await client.post(COOKIE);
    const read = await client.get(created.headers.get('location')!);
    expect(read.status).toBe(200);
    expect(read.body).toEqual(created.body);
    expect(read.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'));
  });

  it('is read by its id in percent-encoding, which stands for the same path', async () => {
    const { path } = await create(client);
    const encoded = path.replace(/[0-9]/g, (digit) => `%3${digit}`);
    expect((await client.get(encoded)).text).toBe((await client.get(path)).text);
  });

  it.each([
    ['a single character', 'x'],
    ['255 letters', 'x'.repeat(255)],
    ['255 emoji, of two UTF-16 units each', '🍪'.repeat(255)],
    ['255 code points in few visible characters', '👩‍👩‍👧‍👧'.repeat(36) + 'abc'],
    ['variation selectors, which count as well', '❤️'.repeat(127) + '!'],
    ['blanks at both ends', '  \t two \n '],
    ['letters that normalisation would change', 'e\u0301 \u212b ﬁ'],
    ['control characters other than NUL', '\u0001\u001f\u007f\u0085'],
    ['a byte-order mark and noncharacters', '\ufeff\ufffe\uffff\u{10ffff}'],
    ['what SQL would take for its own', `'); DROP TABLE cookies; --`],
    ['what JSON must escape', '"\\/\b\f\u2028'],
  ])('keeps a wish of %s as it is', async (_name, wish) => {
    const created = await client.post({ ...COOKIE, wish });
    expect(created.status).toBe(201);
    expect(created.body.wish).toBe(wish);
    expect((await client.get(`/cookies/${created.body.id}`)).body.wish).toBe(wish);
  });

  it.each(FLAVORS.flatMap((flavor) => SIZES.map((size) => [size, flavor])))(
    'may be %s and %s',
    async (size, flavor) => {
      const created = await client.post({ ...COOKIE, size, flavor });
      expect(created.body).toMatchObject({ size, flavor });
    },
  );

  it('is replaced by PUT, which keeps the wish and gives no ETag', async () => {
    const { path, etag } = await create(client);
    const replaced = await client.request('PUT', path, { body: { flavor: 'cinnamon', size: 'large' } });
    expect(replaced.status).toBe(200);
    expect(replaced.body).toEqual({
      id: Number(path.split('/')[2]),
      flavor: 'cinnamon',
      size: 'large',
      wish: COOKIE.wish,
    });
    expect(replaced.headers.get('etag')).toBeNull();
    const read = await client.get(path);
    expect(read.body).toEqual(replaced.body);
    expect(read.headers.get('etag')).not.toBe(etag);
  });

  it('is the same after a repeated PUT, ETags included', async () => {
    const { path } = await create(client);
    const body = { flavor: 'chocolate', size: 'medium' };
    const first = await client.request('PUT', path, { body });
    const etags = [await etagOf(client, path), await etagOf(client, '/cookies')];
    const second = await client.request('PUT', path, { body });
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
    expect([await etagOf(client, path), await etagOf(client, '/cookies')]).toEqual(etags);
  });

  it.each([
    ['its flavor', { flavor: 'chocolate' }],
    ['its size', { size: 'large' }],
    ['both', { flavor: 'cinnamon', size: 'medium' }],
  ])('is changed by PATCH in %s alone', async (_name, body) => {
    const { path, etag } = await create(client);
    const before = (await client.get(path)).body;
    const patched = await client.request('PATCH', path, { body });
    expect(patched.status).toBe(204);
    expect(patched.text).toBe('');
    expect(patched.headers.get('content-type')).toBeNull();
    expect(patched.headers.get('etag')).toMatch(STRONG_ETAG);
    expect(patched.headers.get('etag')).not.toBe(etag);
    const after = await client.get(path);
    expect(after.body).toEqual({ ...before, ...body });
    expect(after.headers.get('etag')).toBe(patched.headers.get('etag'));
  });

  it.each(['application/merge-patch+json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'takes a PATCH of type %s',
    async (type) => {
      const { path } = await create(client);
      const patched = await client.request('PATCH', path, {
        body: { size: 'large' },
        headers: { 'content-type': type },
      });
      expect(patched.status).toBe(204);
      expect((await client.get(path)).body.size).toBe('large');
    },
  );

  it.each([
    ['is empty', {}],
    ['says what is so already', { flavor: COOKIE.flavor, size: COOKIE.size }],
  ])('does not change, nor do the ETags, when a PATCH %s', async (_name, body) => {
    const { path, etag } = await create(client);
    const list = await etagOf(client, '/cookies');
    const patched = await client.request('PATCH', path, { body });
    expect(patched.status).toBe(204);
    expect(patched.headers.get('etag')).toBe(etag);
    expect([await etagOf(client, path), await etagOf(client, '/cookies')]).toEqual([etag, list]);
  });

  it('has a new ETag when it is changed and changed back', async () => {
    const { path, etag } = await create(client);
    await client.request('PATCH', path, { body: { size: 'large' } });
    await client.request('PATCH', path, { body: { size: COOKIE.size } });
    expect(await etagOf(client, path)).not.toBe(etag);
  });

  it('keeps its ETag while other cookies change', async () => {
    const { path, etag } = await create(client);
    const other = await create(client);
    await client.request('PATCH', other.path, { body: { size: 'large' } });
    await client.request('DELETE', other.path);
    expect(await etagOf(client, path)).toBe(etag);
  });

  it('is deleted with 204 and is not found from then on', async () => {
    const { path } = await create(client);
    const deleted = await client.request('DELETE', path);
    expect(deleted.status).toBe(204);
    expect(deleted.text).toBe('');
    expectError(await client.request('DELETE', path), 404, 'COOKIE_NOT_FOUND');
    expectError(await client.get(path), 404, 'COOKIE_NOT_FOUND');
    expectError(
      await client.request('PUT', path, { body: { flavor: 'vanilla', size: 'small' } }),
      404,
      'COOKIE_NOT_FOUND',
    );
    expectError(await client.request('PATCH', path, { body: {} }), 404, 'COOKIE_NOT_FOUND');
  });

  it('is deleted with a JSON content type and no body, as some clients send it', async () => {
    const { path } = await create(client);
    const deleted = await client.request('DELETE', path, { headers: { 'content-type': 'application/json' } });
    expect(deleted.status).toBe(204);
  });

  it('changes the ETag of the list whenever it changes', async () => {
    const seen = [await etagOf(client, '/cookies')];
    const { path } = await create(client);
    seen.push(await etagOf(client, '/cookies'));
    await client.request('PUT', path, { body: { flavor: 'cinnamon', size: 'small' } });
    seen.push(await etagOf(client, '/cookies'));
    await client.request('PATCH', path, { body: { size: 'large' } });
    seen.push(await etagOf(client, '/cookies'));
    await client.request('DELETE', path);
    seen.push(await etagOf(client, '/cookies'));
    expect(new Set(seen).size).toBe(5);
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

  it('count from 1 up and are never used again', async () => {
    expect([(await create(client)).path, (await create(client)).path]).toEqual(['/cookies/1', '/cookies/2']);
    await client.request('DELETE', '/cookies/2');
    expect((await create(client)).path).toBe('/cookies/3');
    for (const id of [1, 3]) await client.request('DELETE', `/cookies/${id}`);
    expect((await create(client)).path).toBe('/cookies/4');
    expect((await client.get('/cookies')).body).toEqual([{ id: 4, ...COOKIE }]);
  });

  it('may be as large as 2^53-1, where nothing is found', async () => {
    expectError(await client.get('/cookies/9007199254740991'), 404, 'COOKIE_NOT_FOUND');
  });

  it('are told apart from those of another database by the ETag', async () => {
    const other = await startService();
    try {
      const [here, there] = [await create(client), await create(await Client.of(other))];
      expect(there.path).toBe(here.path);
      expect(there.etag).not.toBe(here.etag);
      // What was cached from the one database must not be taken for the state of the other.
      expect((await client.get('/cookies', { 'if-none-match': there.etag })).status).toBe(200);
    } finally {
      await other.stop();
    }
  });
});

describe('HEAD', () => {
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
    await fill(service, 1500, 'many');
  });

  afterAll(() => service.stop());

  const lasting = ({ headers }: Answer): Record<string, string> => {
    // What belongs to one exchange or its connection says nothing of the record; fetch, say, asks to close after HEAD.
    const passing = ['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding'];
    return Object.fromEntries([...headers].filter(([name]) => !passing.includes(name)));
  };

  it.each([
    ['a record', '/cookies/7'],
    ['a short list', '/cookies?flavor=vanilla&size=small&after=1400'],
    ['an empty list', '/cookies?after=5000'],
    ['a page', '/cookies?limit=10'],
    ['a list longer than a page', '/cookies'],
  ])('answers for %s what GET would, without the body', async (_name, path) => {
    const get = await client.get(path);
    const head = await client.request('HEAD', path);
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(lasting(head)).toEqual(lasting(get));
  });

  it('answers 304 where GET would', async () => {
    const headers = { 'if-none-match': await etagOf(client, '/cookies') };
    const [head, get] = [await client.request('HEAD', '/cookies', { headers }), await client.get('/cookies', headers)];
    expect(head.status).toBe(304);
    expect(lasting(head)).toEqual(lasting(get));
  });

  it.each([
    [404, '/cookies/5000'],
    [400, '/cookies/0'],
    [400, '/cookies?limit=0'],
    [404, '/nowhere'],
  ])('answers %i for %s, without a body', async (status, path) => {
    const head = await client.request('HEAD', path);
    expect(head.status).toBe(status);
    expect(head.text).toBe('');
    expectErrorHeaders(head);
  });
});

describe('OPTIONS', () => {
  let service: Service;
  let stranger: Client;

  beforeAll(async () => {
    service = await startService();
    stranger = Client.bearing(service);
  });

  afterAll(() => service.stop());

  const methods = ({ headers }: Answer): string[] => headers.get('allow')!.split(', ').sort();

  it('tells anyone what the collection can do', async () => {
    const answer = await stranger.request('OPTIONS', '/cookies');
    expect(answer.status).toBe(204);
    expect(answer.text).toBe('');
    expect(methods(answer)).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
    expect(answer.headers.get('accept-patch')).toBeNull();
  });

  it('tells anyone what a record can do, and what a PATCH may be', async () => {
    const answer = await stranger.request('OPTIONS', '/cookies/1');
    expect(answer.status).toBe(204);
    expect(methods(answer)).toEqual(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'PUT']);
    expect(answer.headers.get('accept-patch')).toBe('application/json, application/merge-patch+json');
  });

  it('answers 404 where there is nothing', async () => {
    expectError(await stranger.request('OPTIONS', '/nowhere'), 404, 'NOT_FOUND');
  });

  it('is named in the Allow of a 405, with the other methods', async () => {
    const refused = await stranger.request('DELETE', '/cookies');
    expectError(refused, 405, 'METHOD_NOT_ALLOWED');
    expect(methods(refused)).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
  });
});

describe('the list', () => {
  const COUNT = 2500;
  let service: Service;
  let client: Client;
  let all: Cookie[];

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
    await fill(service, COUNT, 'one of many');
    all = (await client.get('/cookies')).body;
  });

  afterAll(() => service.stop());

  /** Follows `Link` from a path to the end; gives the pages on the way. */
  async function follow(path: string): Promise<Answer[]> {
    const pages: Answer[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      expect(pages.length).toBeLessThan(COUNT);
      const page: Answer = await client.get(next);
      expect(page.status).toBe(200);
      pages.push(page);
      const link = page.headers.get('link');
      const target = link === null ? undefined : /^<([^>]*)>; rel="next"$/.exec(link)![1]!;
      const url: URL | undefined = target === undefined ? undefined : new URL(target, service.url + next);
      next = url && url.pathname + url.search;
    }
    return pages;
  }

  it('is one plain array of all records, in the order of their ids', async () => {
    const list = await client.get('/cookies');
    expect(list.status).toBe(200);
    expect(list.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(ids(list)).toEqual(inOrder(COUNT));
    expect(list.body[0]).toEqual({ id: 1, flavor: 'chocolate', size: 'small', wish: 'one of many' });
    expect(list.body.at(-1)).toEqual({ id: COUNT, flavor: 'chocolate', size: 'large', wish: 'one of many' });
    for (const record of list.body) expect(Object.keys(record).sort()).toEqual(['flavor', 'id', 'size', 'wish']);
    expect(list.headers.get('etag')).toMatch(STRONG_ETAG);
    expect(list.headers.get('x-total-count')).toBe(String(COUNT));
    expect(list.headers.get('link')).toBeNull();
  });

  it('has no length beforehand when it is long, for it is streamed', async () => {
    const { headers } = await client.get('/cookies');
    expect(headers.get('content-length')).toBeNull();
    expect(headers.get('transfer-encoding')).toBe('chunked');
  });

  it('comes newest first with sort=-id', async () => {
    expect(ids(await client.get('/cookies?sort=-id'))).toEqual(inOrder(COUNT).reverse());
    expect(ids(await client.get('/cookies?sort=id'))).toEqual(inOrder(COUNT));
  });

  it.each<[query: string, expected: number[]]>([
    ['limit=3', [1, 2, 3]],
    ['limit=3&after=0', [1, 2, 3]],
    ['limit=3&after=1000', [1001, 1002, 1003]],
    ['after=2497', [2498, 2499, 2500]],
    ['limit=1000&after=2499', [2500]],
    ['after=2500', []],
    ['limit=5&after=9007199254740991', []],
    ['sort=-id&limit=3', [2500, 2499, 2498]],
    ['sort=-id&limit=2&after=0', [2500, 2499]],
    ['sort=-id&limit=2&after=1000', [999, 998]],
    ['sort=-id&after=3', [2, 1]],
    ['sort=-id&after=1', []],
    ['sort=-id&limit=1&after=9007199254740991', [2500]],
  ])('answers ?%s with the records of that page', async (query, expected) => {
    expect(ids(await client.get(`/cookies?${query}`))).toEqual(expected);
  });

  it.each(['after=1', 'after=0&sort=-id'])('is never cut short without limit (?%s)', async (query) => {
    expect((await client.get(`/cookies?${query}`)).body.length).toBeGreaterThanOrEqual(COUNT - 1);
  });

  it.each<[query: string, selected: (cookie: Cookie) => boolean]>([
    ['flavor=vanilla', ({ flavor }) => flavor === 'vanilla'],
    ['size=large', ({ size }) => size === 'large'],
    ['flavor=vanilla&size=large', ({ flavor, size }) => flavor === 'vanilla' && size === 'large'],
    ['flavor=vanilla&flavor=cinnamon', ({ flavor }) => flavor !== 'chocolate'],
    [
      'flavor=vanilla&size=small&flavor=cinnamon&size=large',
      ({ flavor, size }) => flavor !== 'chocolate' && size !== 'medium',
    ],
    ['flavor=vanilla&flavor=cinnamon&flavor=chocolate', () => true],
  ])('answers ?%s with exactly the records that fit', async (query, selected) => {
    const list = await client.get(`/cookies?${query}`);
    expect(list.body).toEqual(all.filter(selected));
    expect(list.headers.get('x-total-count')).toBeNull();
  });

  it.each(['', '?limit=2', '?limit=2&after=100', '?sort=-id', '?after=2500'])(
    'tells the total count while no filter is set (/cookies%s)',
    async (query) => {
      expect((await client.get(`/cookies${query}`)).headers.get('x-total-count')).toBe(String(COUNT));
    },
  );

  it.each<[query: string, pages: number]>([
    ['limit=1000', 3],
    ['limit=1000&sort=-id', 3],
    ['limit=500', 5],
    ['limit=999', 3],
    ['limit=1000&after=1500', 1],
    ['limit=1000&after=1499', 2],
  ])('leads through ?%s in %i pages, without a Link on the last', async (query, count) => {
    const pages = await follow(`/cookies?${query}`);
    expect(pages).toHaveLength(count);
    const after = Number(new URLSearchParams(query).get('after') ?? 0);
    const expected = inOrder(COUNT).slice(after);
    expect(pages.flatMap(ids)).toEqual(query.includes('-id') ? expected.reverse() : expected);
  });

  it('keeps the filters and the order on the way through the pages', async () => {
    const pages = await follow('/cookies?flavor=vanilla&size=small&flavor=cinnamon&sort=-id&limit=200');
    const expected = all.filter(({ flavor, size }) => flavor !== 'chocolate' && size === 'small').reverse();
    expect(pages).toHaveLength(Math.ceil(expected.length / 200));
    expect(pages.flatMap(({ body }) => body)).toEqual(expected);
  });

  it('follows Link from a request whose target is a whole URL', async () => {
    // Proxies send such targets (RFC 9112 section 3.2.2); what they call this host is not for the next link to say.
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

  // The next three are served from the cache; test/lists.e2e-spec.ts asks for lists that are not cached, ten at once.
  it('answers seventy who ask for all of it at once', async () => {
    const lists = await Promise.all(Array.from({ length: 70 }, () => client.get('/cookies')));
    expect(tally(lists)).toEqual({ 200: 70 });
    for (const { body } of lists) expect(body).toHaveLength(COUNT);
  });

  it('goes on answering after many clients have left in the middle of it', async () => {
    const { port, hostname } = new URL(service.url);
    const headers = { authorization: `Bearer ${await token()}` };
    for (let left = 0; left < 70; left++) {
      const response = await responseTo({ hostname, port, path: '/cookies', headers });
      response.destroy();
    }
    expect((await client.get('/cookies')).body).toHaveLength(COUNT);
  });

  it('goes on answering after many HEAD requests for it', async () => {
    for (let asked = 0; asked < 70; asked++) expect((await client.request('HEAD', '/cookies')).status).toBe(200);
    expect((await client.get('/cookies')).body).toHaveLength(COUNT);
  });
});

/** The answer to a GET as soon as its head has come, its body unread. */
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

  it('is empty at first', async () => {
    const list = await client.get('/cookies');
    expect(list.text).toBe('[]');
    expect(list.headers.get('x-total-count')).toBe('0');
    expect(list.headers.get('etag')).toMatch(STRONG_ETAG);
  });

  it('shows the state it began with to a slow reader', async () => {
    // About 20 MB: more than the sockets of both sides hold, so the end of it is not read yet when the writes come.
    const count = 20_000;
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

  it('has as many records as its X-Total-Count says, however many come and go', async () => {
    await fill(service, 1500, 'busy');
    let writing = true;
    const write = async () => {
      while (writing) await client.request('DELETE', (await create(client)).path);
    };
    const writers = Array.from({ length: 8 }, write);
    const lists: Answer[] = [];
    while (lists.length < 20) lists.push(await client.get('/cookies'));
    writing = false;
    await Promise.all(writers);
    for (const list of lists) expect(list.body).toHaveLength(Number(list.headers.get('x-total-count')));
    // Without writes in between the above would prove nothing.
    expect(new Set(lists.map(({ headers }) => headers.get('etag'))).size).toBeGreaterThan(1);
    expect((await client.get('/cookies')).body).toHaveLength(1500);
  });
});

describe('a long list that is asked for again', () => {
  it('is the same as long as nothing has changed, and new after a change', async () => {
    const service = await startService();
    try {
      await service.app.get(DataSource).query(`
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO cookies (flavor, size, wish, revision) SELECT 'vanilla', 'small', 'wish ' || i, 1 FROM n`);
      const client = await Client.of(service);
      const first = await client.get('/cookies');
      const again = await client.get('/cookies');
      expect(first.body).toHaveLength(1500);
      expect({ text: again.text, etag: again.headers.get('etag') }).toEqual({
        text: first.text,
        etag: first.headers.get('etag'),
      });
      await client.request('PATCH', '/cookies/1500', { body: { size: 'large' } });
      const changed = await client.get('/cookies');
      expect(changed.headers.get('etag')).not.toBe(first.headers.get('etag'));
      expect(changed.body.at(-1)).toEqual({ id: 1500, flavor: 'vanilla', size: 'large', wish: 'wish 1500' });
      expect((await client.get('/cookies?size=large')).body).toHaveLength(1);
    } finally {
      await service.stop();
    }
  });
});

describe('caching', () => {
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
    await fill(service, 1200, 'cached');
  });

  afterAll(() => service.stop());

  const PATHS = ['/cookies/1', '/cookies', '/cookies?limit=5', '/cookies?flavor=vanilla'];

  it.each(PATHS)('lets the client keep %s, to ask again each time', async (path) => {
    const { headers } = await client.get(path);
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('vary')).toBe('Authorization');
    expect(headers.get('etag')).toMatch(STRONG_ETAG);
  });

  const FRESH: [name: string, field: (etag: string) => string][] = [
    ['the ETag', (etag) => etag],
    ['the ETag made weak by a proxy', (etag) => `W/${etag}`],
    ['any version (*)', () => '*'],
    ['a list of tags with it', (etag) => `"other", W/"another,one" ,${etag}`],
    ['a list with it as a weak tag', (etag) => `"x",W/${etag}, "y"`],
  ];

  it.each(PATHS.flatMap((path) => FRESH.map(([name, field]) => ({ path, name, field }))))(
    'answers 304 for $path with If-None-Match on $name',
    async ({ path, field }) => {
      const etag = await etagOf(client, path);
      const answer = await client.get(path, { 'if-none-match': field(etag) });
      expect(answer.status).toBe(304);
      expect(answer.text).toBe('');
      expect(answer.headers.get('etag')).toBe(etag);
      expect(answer.headers.get('cache-control')).toBe('private, no-cache');
      expect(answer.headers.get('vary')).toBe('Authorization');
      expectPlainHeaders(answer.headers);
    },
  );

  it.each(PATHS)('answers 304 for %s even with Cache-Control: no-cache', async (path) => {
    const headers = { 'if-none-match': await etagOf(client, path), 'cache-control': 'no-cache', pragma: 'no-cache' };
    expect((await client.get(path, headers)).status).toBe(304);
  });

  it.each(['"other"', '"a", "b"', 'W/"other"', 'nonsense', '""'])(
    'answers in full when If-None-Match is %s',
    async (field) => {
      for (const path of ['/cookies/1', '/cookies']) {
        expect((await client.get(path, { 'if-none-match': field })).status).toBe(200);
      }
    },
  );

  it('answers in full after a change', async () => {
    const { path, etag } = await create(client);
    const list = await etagOf(client, '/cookies');
    await client.request('PATCH', path, { body: { size: 'large' } });
    const [record, records] = [
      await client.get(path, { 'if-none-match': etag }),
      await client.get('/cookies', { 'if-none-match': list }),
    ];
    expect(record.body).toMatchObject({ size: 'large' });
    expect(records.body.at(-1)).toEqual(record.body);
  });

  it('answers 404 for a deleted record, whatever the client still has of it', async () => {
    const { path, etag } = await create(client);
    await client.request('DELETE', path);
    for (const field of [etag, '*']) {
      expectError(await client.get(path, { 'if-none-match': field }), 404, 'COOKIE_NOT_FOUND');
    }
  });

  it('answers 304 to one who may read only, and 403 to one who may only write', async () => {
    const headers = { 'if-none-match': await etagOf(client, '/cookies') };
    const [reader, writer] = [
      await Client.of(service, { scope: 'cookies:read' }),
      await Client.of(service, { scope: 'cookies:write' }),
    ];
    expect((await reader.get('/cookies', headers)).status).toBe(304);
    expect((await writer.get('/cookies', headers)).status).toBe(403);
  });
});

describe('If-Match', () => {
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    service = await startService();
    client = await Client.of(service);
  });

  afterAll(() => service.stop());

  const WRITES: [method: string, body: object | undefined, status: number][] = [
    ['PUT', { flavor: 'cinnamon', size: 'large' }, 200],
    ['PATCH', { size: 'large' }, 204],
    ['PATCH', {}, 204],
    ['DELETE', undefined, 204],
  ];

  describe.each(WRITES)('on %s with body %j', (method, body, status) => {
    it.each<[name: string, field: (etag: string) => string]>([
      ['the ETag', (etag) => etag],
      ['any version (*)', () => '*'],
      ['a list of tags with it', (etag) => `"other", ${etag}`],
    ])('lets the write through on %s', async (_name, field) => {
      const { path, etag } = await create(client);
      const answer = await client.request(method, path, { body, headers: { 'if-match': field(etag) } });
      expect(answer.status).toBe(status);
    });

    it.each<[name: string, field: (etag: string) => string]>([
      ['another tag', () => '"other"'],
      ['a weak tag, which never matches', (etag) => `W/${etag}`],
      ['a list without it', () => '"a", "b"'],
      ['a tag without its quotes', (etag) => etag.slice(1, -1)],
    ])('stops the write with 412 on %s', async (_name, field) => {
      const { path, etag } = await create(client);
      const before = await client.get(path);
      const answer = await client.request(method, path, { body, headers: { 'if-match': field(etag) } });
      expectError(answer, 412, 'PRECONDITION_FAILED');
      const after = await client.get(path);
      expect(after.text).toBe(before.text);
      expect(after.headers.get('etag')).toBe(etag);
    });

    it('stops the write with 412 when the record has changed since', async () => {
      const { path, etag } = await create(client);
      await client.request('PATCH', path, { body: { flavor: 'chocolate' } });
      const answer = await client.request(method, path, { body, headers: { 'if-match': etag } });
      expectError(answer, 412, 'PRECONDITION_FAILED');
    });

    // RFC 9110 section 13.1.2: the comparison is weak, and the method is not performed.
    it.each<[name: string, field: (etag: string) => string]>([
      ['the ETag', (etag) => etag],
      ['the ETag as a weak one', (etag) => `W/${etag}`],
      ['any version (*)', () => '*'],
      ['a list of tags with it', (etag) => `"other", ${etag}`],
    ])('stops the write with 412 when If-None-Match is %s', async (_name, field) => {
      const { path, etag } = await create(client);
      const before = await client.get(path);
      const response = await client.request(method, path, { body, headers: { 'if-none-match': field(etag) } });
      expectError(response, 412, 'PRECONDITION_FAILED');
      const after = await client.get(path);
      expect([after.text, after.headers.get('etag')]).toEqual([before.text, etag]);
    });

    it('lets the write through when If-None-Match is another tag', async () => {
      const { path } = await create(client);
      const response = await client.request(method, path, { body, headers: { 'if-none-match': '"other"' } });
      expect(response.status).toBe(status);
    });

    it('does not hide that there is no record', async () => {
      const answer = await client.request(method, '/cookies/999999', { body, headers: { 'if-match': '*' } });
      expectError(answer, 404, 'COOKIE_NOT_FOUND');
    });
  });

  it('lets exactly one of 20 racing PUTs win', async () => {
    const { path, etag } = await create(client);
    // Each would change the record, and none is what the record already is.
    const bodies = inOrder(20).map((n) => ({ flavor: n % 2 ? 'chocolate' : 'cinnamon', size: SIZES[n % 3] }));
    const answers = await Promise.all(
      bodies.map((body) => client.request('PUT', path, { body, headers: { 'if-match': etag } })),
    );
    expect(tally(answers)).toEqual({ 200: 1, 412: 19 });
    const winner = answers.findIndex(({ status }) => status === 200);
    expect((await client.get(path)).body).toMatchObject(bodies[winner]!);
  });

  it('is not needed for one of 20 racing DELETEs to be the one', async () => {
    const { path } = await create(client);
    const answers = await Promise.all(inOrder(20).map(() => client.request('DELETE', path)));
    expect(tally(answers)).toEqual({ 204: 1, 404: 19 });
  });
});

describe('with REQUIRE_IF_MATCH=true', () => {
  let service: Service;
  let client: Client;

  beforeAll(async () => {
    service = await startService({ REQUIRE_IF_MATCH: 'true' });
    client = await Client.of(service);
  });

  afterAll(() => service.stop());

  it.each([
    ['PUT', { flavor: 'cinnamon', size: 'large' }, 200],
    ['PATCH', { size: 'large' }, 204],
    ['DELETE', undefined, 204],
  ])('%s without If-Match is 428, with it as ever', async (method, body, status) => {
    const { path, etag } = await create(client);
    expectError(await client.request(method, path, { body }), 428, 'PRECONDITION_REQUIRED');
    expect(await etagOf(client, path)).toBe(etag);
    const stale = await client.request(method, path, { body, headers: { 'if-match': '"stale"' } });
    expectError(stale, 412, 'PRECONDITION_FAILED');
    expect((await client.request(method, path, { body, headers: { 'if-match': etag } })).status).toBe(status);
  });

  it('what creates and reads needs none', async () => {
    const { path } = await create(client);
    expect((await client.get(path)).status).toBe(200);
    expect((await client.get('/cookies')).status).toBe(200);
  });
});

describe('CORS', () => {
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

  it.each(ORIGINS)('answers the preflight of %s without a token', async (origin) => {
    const { status, headers, text } = await preflight(origin, 'PATCH');
    expect(status).toBe(204);
    expect(text).toBe('');
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(fields(headers, 'access-control-allow-methods')).toEqual(
      expect.arrayContaining(['delete', 'get', 'patch', 'post', 'put']),
    );
    expect(fields(headers, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'if-match', 'if-none-match', 'x-request-id']),
    );
    expect(fields(headers, 'vary')).toContain('origin');
    // Tokens come in a header, never as cookies of the browser.
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expectPlainHeaders(headers);
  });

  it('answers a preflight without Content-Length, which no 204 may have (RFC 9110 section 8.6)', async () => {
    expect((await preflight(ORIGINS[0]!, 'PUT')).headers.get('content-length')).toBeNull();
  });

  it.each(ORIGINS)('lets pages of %s read the answer and what it says of itself', async (origin) => {
    const { status, headers } = await client.get('/cookies?limit=1', { origin });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(fields(headers, 'access-control-expose-headers')).toEqual(
      expect.arrayContaining(['etag', 'link', 'location', 'x-request-id', 'x-total-count']),
    );
  });

  it.each(['/cookies', '/cookies/1'])('varies %s by origin and token, also when it answers 304', async (path) => {
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
    'gives pages of %s nothing to go by',
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

  it('leaves OPTIONS that is no preflight as it is', async () => {
    for (const headers of [undefined, { origin: ORIGINS[0]! }]) {
      const { status, headers: answered } = await stranger.request('OPTIONS', '/cookies', { headers });
      expect(status).toBe(204);
      expect(fields(answered, 'allow')).toEqual(['get', 'head', 'options', 'post']);
    }
  });

  it('leaves unknown paths unknown', async () => {
    expectError(await stranger.get('/nowhere'), 404, 'NOT_FOUND');
    expectError(await stranger.request('OPTIONS', '/nowhere'), 404, 'NOT_FOUND');
  });

  it('is off unless it is asked for', async () => {
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

describe('every answer', () => {
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

  it.each(ANSWERS)('(%i, %s) has the X-Request-Id of a client that has a sane one', async (status, _name, ask) => {
    for (const id of ['a', 'Trace_1.2-3', 'x'.repeat(128)]) {
      const { headers, ...answer } = await ask({ 'x-request-id': id });
      expect(answer.status).toBe(status);
      expect(headers.get('x-request-id')).toBe(id);
      expectPlainHeaders(headers);
    }
  });

  it.each(ANSWERS)('(%i, %s) has an X-Request-Id of its own otherwise', async (status, _name, ask) => {
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

describe('capacity', () => {
  let service: Service | undefined;

  afterEach(async () => {
    await service?.stop();
    service = undefined;
  });

  async function serviceOf(capacity: number): Promise<Client> {
    service = await startService({ COOKIES_CAPACITY: String(capacity) });
    return Client.of(service);
  }

  it('answers 507 when the storage is full', async () => {
    const client = await serviceOf(1);
    await create(client);
    const before = await client.get('/cookies');
    const refused = await client.post(COOKIE);
    expectError(refused, 507, 'STORAGE_FULL');
    expect(refused.body).toEqual({
      statusCode: 507,
      error: 'Insufficient Storage',
      message: 'Storage is full',
      errorCode: 'STORAGE_FULL',
      requestId: refused.headers.get('x-request-id'),
    });
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(refused.headers.get('location')).toBeNull();
    const after = await client.get('/cookies');
    expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
  });

  it('takes exactly 25 of 200 racing cookies when there are 25 places', async () => {
    const client = await serviceOf(25);
    const answers = await Promise.all(inOrder(200).map(() => client.post(COOKIE)));
    expect(tally(answers)).toEqual({ 201: 25, 507: 175 });
    const list = await client.get('/cookies');
    expect(ids(list)).toEqual(
      answers
        .filter(({ status }) => status === 201)
        .map(({ body }) => body.id)
        .sort((a, b) => a - b),
    );
    expect(list.headers.get('x-total-count')).toBe('25');
  });

  it('has a place again for each cookie that is deleted, and no more', async () => {
    const client = await serviceOf(2);
    const [{ path }] = [await create(client), await create(client)];
    expect((await client.post(COOKIE)).status).toBe(507);
    // Of two deletions of one cookie only one frees a place.
    await Promise.all([client.request('DELETE', path), client.request('DELETE', path)]);
    expect((await client.post(COOKIE)).status).toBe(201);
    expect((await client.post(COOKIE)).status).toBe(507);
  });

  it('is never exceeded, nor a place lost, while cookies come and go', async () => {
    const client = await serviceOf(5);
    const comeAndGo = async () => {
      for (let turn = 0; turn < 6; turn++) {
        const created = await client.post(COOKIE);
        expect([201, 507]).toContain(created.status);
        expect(Number((await client.request('HEAD', '/cookies')).headers.get('x-total-count'))).toBeLessThanOrEqual(5);
        if (created.status === 201) {
          expect((await client.request('DELETE', `/cookies/${created.body.id}`)).status).toBe(204);
        }
      }
    };
    await Promise.all(inOrder(12).map(comeAndGo));
    expect(tally(await Promise.all(inOrder(6).map(() => client.post(COOKIE))))).toEqual({ 201: 5, 507: 1 });
  });

  it('does not stand in the way of reads and of changes to what is stored', async () => {
    const client = await serviceOf(1);
    const { path } = await create(client);
    expect((await client.post(COOKIE)).status).toBe(507);
    expect((await client.get(path)).status).toBe(200);
    expect((await client.request('PUT', path, { body: { flavor: 'cinnamon', size: 'large' } })).status).toBe(200);
    expect((await client.request('PATCH', path, { body: { size: 'small' } })).status).toBe(204);
  });

  it('of 0 is always full', async () => {
    const client = await serviceOf(0);
    expectError(await client.post(COOKIE), 507, 'STORAGE_FULL');
    expect((await client.get('/cookies')).text).toBe('[]');
  });

  it('is met by a valid POST only', async () => {
    const client = await serviceOf(0);
    const reader = await Client.of({ url: service!.url }, { scope: 'cookies:read' });
    expectError(await client.post({ ...COOKIE, wish: '' }), 400, 'INVALID_REQUEST');
    expectError(await client.post(COOKIE, { 'content-type': 'text/plain' }), 415, 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await Client.bearing(service!).post(COOKIE), 401, 'UNAUTHENTICATED');
    expectError(await reader.post(COOKIE), 403, 'INSUFFICIENT_SCOPE');
  });

  it('set below what is stored refuses POST until deletes have made room, and touches nothing', async () => {
    const client = await serviceOf(2);
    await fill(service!, 4, 'from a larger time');
    for (const id of [1, 2]) {
      expect((await client.post(COOKIE)).status).toBe(507);
      expect((await client.request('DELETE', `/cookies/${id}`)).status).toBe(204);
    }
    expect((await client.post(COOKIE)).status).toBe(507);
    expect(ids(await client.get('/cookies'))).toEqual([3, 4]);
    await client.request('DELETE', '/cookies/3');
    expect((await client.post(COOKIE)).status).toBe(201);
  });
});
