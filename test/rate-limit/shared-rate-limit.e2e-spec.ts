import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { SharedCounts } from '../../src/rate-limit/request-counts.js';
import { databaseUrlFor } from '../support/engine.js';
import { Client, sharedService } from '../support/service.js';
import { until } from '../support/until.js';

const MOST = 20;
const SHARED = {
  RATE_LIMIT_STORE: 'database',
  RATE_LIMIT_SUBJECT_READ: String(MOST),
  RATE_LIMIT_ADDRESS_READ: '1000',
  RATE_LIMIT_WINDOW: '600',
  // After a time-out, which a busy machine may cause, the process would count for itself.
  DATABASE_BUSY_TIMEOUT: '60000',
  DATABASE_STATEMENT_TIMEOUT: '60000',
};

const numbers = (length: number) => Array.from({ length }, (_, index) => index);

describe('two services with RATE_LIMIT_STORE=database on one database', () => {
  const { service: first } = sharedService(SHARED);
  const { service: second } = sharedService(() => ({ ...SHARED, DATABASE_URL: databaseUrlFor(first.folder) }));
  let source: DataSource;

  beforeAll(() => {
    source = first.app.get(DataSource);
  });

  it('accept as many requests of a subject as its limit allows, and report how many are left', async () => {
    const clients = [first, second].map((service) => Client.of(service));
    const responses = await Promise.all(numbers(2 * MOST).map((index) => clients[index % 2]!.get('/cookies/1')));
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(MOST);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(MOST);
    const left = responses
      .filter(({ status }) => status === 404)
      .map(({ headers }) => Number(/^"subject-read";r=(\d+);/.exec(headers.get('ratelimit')!)![1]));
    expect(left.sort((a, b) => a - b)).toEqual(numbers(MOST));
  });

  it('send no statement for a subject that is over its limit', async () => {
    const count = async () => {
      const [row] = await source.query(`SELECT sum(requests) AS requests FROM rate_limits WHERE key LIKE 'subject%'`);
      return Number(row.requests);
    };
    const client = Client.of(first, { subject: 'greedy' });
    for (let request = 0; request <= MOST; request++) await client.get('/cookies/1');
    const before = await count();
    for (let request = 0; request < 3; request++) expect((await client.get('/cookies/1')).status).toBe(429);
    expect(await count()).toBe(before);
  });

  it('store neither subjects nor addresses', async () => {
    const rows: { key: string }[] = await source.query('SELECT key FROM rate_limits');
    expect(rows.length).toBeGreaterThan(0);
    for (const { key } of rows) expect(key).toMatch(/^(subject|address)-read [A-Za-z0-9_-]{43}$/);
  });

  it('delete counts whose window is over, begin a new window, and end it sooner if the setting is shorter', async () => {
    const counts = new SharedCounts(source);
    await Promise.all(numbers(100).map((index) => counts.add(`short ${index}`, 1)));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await counts.add('short 0', 600_000)).toEqual({ requests: 1, endsAt: expect.any(Number) });
    const latest = Date.now() + 700_000;
    const { requests, endsAt } = await counts.add('short 0', 1_000_000);
    expect([requests, endsAt <= latest]).toEqual([2, true]);
    expect((await counts.add('short 0', 300_000)).endsAt).toBeLessThan(endsAt);
    for (let request = 0; request < 400; request++) await counts.add('another', 600_000);
    const rows = (): Promise<object[]> => source.query(`SELECT key FROM rate_limits WHERE key LIKE 'short%'`);
    await until(async () => (await rows()).length === 1, 'the deletion of ended windows');
  });

  it('delete the counts first whose window ended first, which PostgreSQL finds by an index', async () => {
    await source.query(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1001)
      INSERT INTO rate_limits (key, requests, ends_at) SELECT 'expired ' || n, 1, 2000 - n FROM numbers`);
    const counts = new SharedCounts(source);
    for (let request = 0; request < 500; request++) await counts.add('another', 600_000);
    const rows = (): Promise<object[]> => source.query(`SELECT key FROM rate_limits WHERE key LIKE 'expired%'`);
    await until(async () => (await rows()).length <= 1, 'the deletion of ended windows');
    expect(await rows()).toEqual([{ key: 'expired 1' }]);
  });

  it('use one clock, that of the database, where the clocks of the processes differ by more than the window', async () => {
    const counts = new SharedCounts(source);
    const now = Date.now();
    using clock = jest.spyOn(Date, 'now');
    for (const [index, hours] of [0, 1, -1, 1].entries()) {
      clock.mockReturnValue(now + hours * 3_600_000);
      const { requests, endsAt } = await counts.add('skewed', 600_000);
      expect([requests, endsAt - Date.now() <= 700_000]).toEqual([index + 1, true]);
    }
  });

  it('count for themselves while the database is unavailable', async () => {
    await source.query('DROP TABLE rate_limits');
    const client = Client.of(first, { subject: 'patient' });
    const statuses = [];
    for (let request = 0; request < MOST + 5; request++) statuses.push((await client.get('/cookies/1')).status);
    expect(statuses.filter((status) => status === 404)).toHaveLength(MOST);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  });
});
