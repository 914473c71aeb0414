import { DataSource } from 'typeorm';
import { describeResource } from './support/resource/describe-resource.js';
import { Client, COOKIE, type Service, sharedService, startService, token } from './support/service.js';

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

async function create(client: Client): Promise<{ path: string; etag: string }> {
  const { status, headers } = await client.post(COOKIE);
  expect(status).toBe(201);
  return { path: headers.get('location')!, etag: headers.get('etag')! };
}

describe('a cookie', () => {
  const { client } = sharedService();

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
});

it('ids of another database have other ETags', async () => {
  await using one = await startService();
  await using two = await startService();
  const [here, there] = [await create(Client.of(one)), await create(Client.of(two))];
  expect(there.path).toBe(here.path);
  expect(there.etag).not.toBe(here.etag);
  // A response cached from one database must not match the other one.
  expect((await Client.of(one).get('/cookies', { 'if-none-match': there.etag })).status).toBe(200);
});

describe('a list while others write', () => {
  const { service, client } = sharedService({ COOKIES_CAPACITY: '100000' });

  it('shows its first state to a slow reader', async () => {
    // About 13 MB, more than the sockets of both sides buffer: the writes come before the list is read.
    const count = 12_998;
    await fill(service, count, '🍪'.repeat(250));
    const headers = { authorization: `Bearer ${await token()}` };
    const response = await fetch(`${service.url}/cookies`, { headers });
    const written = [
      await client.request('DELETE', `/cookies/${count}`),
      await client.request('PATCH', `/cookies/${count - 1}`, { body: { flavor: 'chocolate', size: 'medium' } }),
      await client.post(COOKIE),
      await client.request('DELETE', '/cookies/1'),
    ];
    expect(written.map(({ status }) => status)).toEqual([204, 204, 201, 204]);
    const list = (await response.json()) as Cookie[];
    expect(list).toHaveLength(count);
    expect(list.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    expect(list[count - 2]).toMatchObject({ flavor: 'chocolate', size: 'small' });
    expect(response.headers.get('x-total-count')).toBe(String(count));
    expect((await client.get('/cookies?sort=-id&limit=2')).body).toEqual([
      { id: count + 1, ...COOKIE },
      expect.objectContaining({ id: count - 1, flavor: 'chocolate', size: 'medium' }),
    ]);
  });
});
