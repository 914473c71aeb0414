import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Controller, type DynamicModule, Get, Module, type NestInterceptor, Query, Res } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { delayWhen, tap } from 'rxjs';
import { DataSource } from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import type { Environment } from '../../src/config/config.js';
import type { Flavor } from '../../src/cookies/cookie.values.js';
import { CookiesModule } from '../../src/cookies/cookies.module.js';
import { CookiesService } from '../../src/cookies/cookies.service.js';
import { ListCookiesQuery } from '../../src/cookies/dto/cookie.dto.js';
import { RESOURCES } from '../../src/features.js';
import type { SqliteDriver } from '../../src/database/sqlite/sqlite-driver.js';
import { connectionsOf } from '../../src/http/connections/connections.js';
import { Exchange, ResourceExchange } from '../../src/resource/exchange.js';
import { ListCache } from '../../src/resource/lists/list-cache.js';
import { ListReaders } from '../../src/resource/lists/list-readers.js';
import { type ListBody, ResourceLists } from '../../src/resource/lists/resource-lists.js';
import { captureLog } from '../support/captured-log.js';
import { until } from '../support/until.js';
import { createDatabase, describePostgres } from '../support/engine.js';
import { exposedGc } from '../support/exposed-gc.js';
import { Client, type Service, startService, token } from '../support/service.js';
import { growthDuring, metricsOf, untilMetric } from '../support/metrics.js';
import { StallingClient } from '../support/faults/stalling-client.js';

/** Records with the longest wishes: about 1090 bytes of JSON each, in about 570 UTF-16 units. */
const WISH = '🍪'.repeat(255);
/** A list of 13 MB, more than the sockets of both sides buffer, so that a reader can stall. */
const LONG = 12_000;

const READS = 'database_statement_duration_seconds_count{kind="read"}';
/** Maximum statements for a cached list: its ETag, a poll of two tables, and one per resource for the metrics. */
const FROM_CACHE = 3 + RESOURCES.length;
/** Minimum statements for a list of two pages that is read from the database. */
const FROM_DATABASE = 2 + FROM_CACHE;
const IN_FLIGHT = 'http_requests_in_flight';
const CUT_OFF = 'http_lists_cut_off_total{route="/cookies"}';

let service: Service;
let client: Client;

async function start(
  count: number,
  environment: Environment = {},
  wish = WISH,
  modules: Parameters<typeof startService>[1] = [],
): Promise<void> {
  service = await startService({ COOKIES_CAPACITY: '100000', ...environment }, modules);
  client = Client.of(service);
  await service.app.get(DataSource).sql`
    INSERT INTO cookies (flavor, size, wish)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    SELECT 'vanilla', 'small', ${wish} FROM numbers`;
}

afterEach(() => service.stop());

/** Reads the beginning of a list, then disconnects. */
async function leaveHalfWay(): Promise<number> {
  const reader = await StallingClient.get(service);
  await reader.read(50_000);
  reader.leave();
  return reader.status;
}

const endOf = ({ status, isWhole }: StallingClient) => [status, isWhole ? 'whole' : 'cut off'];

const change = () => client.request('PATCH', '/cookies/1', { body: { size: 'large' } });

/** Waits until so many readers of lists are known. */
async function untilReaders(count: number): Promise<void> {
  const readers = service.app.get(ListReaders);
  await until(() => readers.count === count, `${count} readers`, 5000);
}

/** The number of reading statements of a GET. */
async function statementsFor(path: string): Promise<number> {
  return (await growthDuring(service, () => client.get(path))).get(READS)!;
}

const fieldsOf = ({ headers }: { headers: Headers }): unknown[] =>
  ['content-type', 'content-length', 'etag', 'link', 'x-total-count'].map((name) => headers.get(name));

describe('GET /cookies after readers have left half-way', () => {
  it('is the whole list, and the next GET also gets it, from the cache; none counts as cut off', async () => {
    await start(LONG, { LIST_CACHE_BYTES: String(2 ** 28) });
    // One list more than are collected for the cache at the same time.
    for (let reader = 0; reader < 3; reader++) expect(await leaveHalfWay()).toBe(200);
    await untilMetric(service, IN_FLIGHT, 0);
    expect((await metricsOf(service)).get(CUT_OFF)).toBe(0);
    expect((await client.get('/cookies')).body).toHaveLength(LONG);
    // From the database it takes a statement for each page, and slow machines poll for revoked tokens meanwhile.
    expect(await statementsFor('/cookies')).toBeLessThan(LONG / 1000);
  });

  it('is 200 after more readers than there are snapshots, and counts none of them as a reader', async () => {
    await start(5000, { LIST_CACHE_BYTES: '0' });
    // There are only 80 snapshots.
    for (let wave = 0; wave < 9; wave++) {
      const statuses = await Promise.all(Array.from({ length: 10 }, () => leaveHalfWay()));
      expect(statuses).toEqual(Array(10).fill(200));
    }
    await untilMetric(service, IN_FLIGHT, 0);
    await untilReaders(0);
    expect((await metricsOf(service)).get('http_response_buffer_bytes')).toBe(0);
    const { status, body } = await client.get('/cookies?after=3000');
    expect([status, body.length]).toEqual([200, 2000]);
  });

  it('leaves no snapshot open: HEAD, a page, a part and the whole list are each 200 ninety times', async () => {
    await start(1100, { LIST_CACHE_BYTES: '0', DATABASE_BUSY_TIMEOUT: '2000' }, 'short');
    for (const [method, path] of [
      ['HEAD', '/cookies'],
      ['GET', '/cookies?limit=3'],
      ['GET', '/cookies?after=1000'],
      ['GET', '/cookies'],
    ] as const) {
      for (let asked = 0; asked < 90; asked += 10) {
        const responses = await Promise.all(Array.from({ length: 10 }, () => client.request(method, path)));
        expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200));
      }
    }
  });

  it('is read no further than two pages for HEAD', async () => {
    await start(30_000, { LIST_CACHE_BYTES: '0' }, 'short');
    const read = (await growthDuring(service, () => client.request('HEAD', '/cookies'))).get(READS)!;
    // The list has 30 pages; the limit allows some other statements.
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(20);
  });
});

/** A promise that delays responses after their handlers, like an interceptor of a team. */
let held: Promise<void>;

/** Delays responses until the returned function is called. */
function holdResponses(): () => void {
  let release!: () => void;
  held = new Promise((resolve) => (release = resolve));
  return release;
}

/** A module with an interceptor of every route, as a team may have. */
const interceptedBy = (intercept: NestInterceptor['intercept']): DynamicModule => ({
  module: class Intercepted {},
  providers: [{ provide: APP_INTERCEPTOR, useValue: { intercept } }],
});

const HeldResponses = interceptedBy((_context, next) => next.handle().pipe(delayWhen(() => held)));

/** Closes the connection after the handler and before the response, like a reset at that moment. */
const Closing = interceptedBy((context, next) => {
  const { raw } = context.switchToHttp().getRequest<FastifyRequest>();
  return next.handle().pipe(tap(() => raw.socket.destroy()));
});

@Controller('held')
class HeldStreamController {
  static stream: Readable | undefined;

  @Get()
  @Scopes('cookies:read')
  async send(@Res() reply: FastifyReply): Promise<void> {
    const stream = new Readable({ read: () => undefined });
    HeldStreamController.stream = stream;
    await held;
    await reply.send(stream);
  }
}

@Module({ controllers: [HeldStreamController] })
class HeldStreamModule {}

describe('GET /cookies after readers have left before its first byte', () => {
  it('is 200, and none of them counts as a reader', async () => {
    const release = holdResponses();
    await start(1500, { LIST_CACHE_BYTES: '0' }, 'short', [HeldResponses]);
    const clients = await Promise.all(Array.from({ length: 5 }, () => StallingClient.get(service)));
    await untilReaders(5);
    for (const each of clients) each.reset();
    try {
      await untilMetric(service, 'http_connections_open', 0);
    } finally {
      release();
    }
    await untilReaders(0);
    expect((await client.get('/cookies')).body).toHaveLength(1500);
  });

  it('is 503 for the reader that has lost its slot meanwhile, and 200 for the others', async () => {
    const release = holdResponses();
    await start(1500, { LIST_CACHE_BYTES: '0' }, 'short', [HeldResponses]);
    // The maximum for one subject.
    const first = Array.from({ length: 36 }, () => client.get('/cookies'));
    await untilReaders(36);
    await sleep(1100);
    const last = client.get('/cookies');
    await untilMetric(service, IN_FLIGHT, 37);
    await sleep(200);
    release();
    const statuses = (await Promise.all([...first, last])).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([...Array<number>(36).fill(200), 503]);
    expect((await last).status).toBe(200);
  });
});

describe('GET /cookies whose client leaves while its response is about to be sent', () => {
  it('is cut off, and is no error', async () => {
    await start(1500, { LIST_CACHE_BYTES: '0' }, 'short', [Closing]);
    const ends: unknown[] = [];
    connectionsOf(service.app.getHttpServer()).requests.onEnd(({ status }, end) => ends.push({ status, end }));
    const logged = captureLog();
    await expect(client.get('/cookies')).rejects.toThrow();
    await untilMetric(service, 'http_connections_open', 0);
    await sleep(100);
    expect([ends, logged]).toEqual([[{ status: 200, end: 'cut off' }], []]);
    expect(service.app.get(ListReaders).count).toBe(0);
  });
});

describe('GET of a stream that a module sends', () => {
  it('closes the stream when its client has left before the first byte', async () => {
    const release = holdResponses();
    await start(1, {}, 'short', [HeldStreamModule]);
    const reader = await StallingClient.get(service, { path: '/held' });
    await until(() => HeldStreamController.stream !== undefined, 'the request has come');
    reader.reset();
    try {
      await untilMetric(service, 'http_connections_open', 0);
    } finally {
      release();
    }
    await until(() => HeldStreamController.stream!.destroyed, 'the stream is closed', 5000);
  });
});

it('a list on SQLite reads little JSON with each statement, also after a record that is shorter than the others', async () => {
  await start(3000, { LIST_CACHE_BYTES: '0' });
  const dataSource = service.app.get(DataSource);
  const engine = dataSource.driver as SqliteDriver;
  const openSnapshot = engine.openSnapshot.bind(engine);
  const lengths: number[] = [];
  jest.spyOn(engine, 'openSnapshot').mockImplementation(async () => {
    const snapshot = await openSnapshot();
    const query = snapshot.query.bind(snapshot) as (sql: string, parameters: unknown[]) => Promise<any>;
    const measured = async (text: string, parameters: unknown[]): Promise<any> => {
      const rows = await query(text, parameters);
      if (Buffer.isBuffer(rows[0]?.records)) lengths.push(rows[0].records.length);
      return rows;
    };
    return Object.assign(snapshot, { query: measured });
  });
  await dataSource.sql`UPDATE cookies SET wish = 'x' WHERE id % 1000 = 1`;
  expect((await client.get('/cookies')).body).toHaveLength(3000);
  expect(Math.min(...lengths)).toBeLessThan(100);
  expect(Math.max(...lengths)).toBeLessThan(3 * 128 * 1024);
});

@Controller('flavors')
class FlavorsController {
  constructor(
    private readonly cookies: CookiesService,
    private readonly lists: ResourceLists,
  ) {}

  /** The cookies whose flavor is the name of the subject. */
  @Get()
  @Scopes('cookies:read')
  list(@Query() query: ListCookiesQuery, @Exchange() exchange: ResourceExchange): Promise<ListBody | undefined> {
    query.flavor = [exchange.request.user!.subject as Flavor];
    return this.lists.respond(this.cookies.records, query, exchange);
  }

  /** By mistake, it copies the query. */
  @Get('copied')
  @Scopes('cookies:read')
  copied(@Query() query: ListCookiesQuery, @Exchange() exchange: ResourceExchange): Promise<ListBody | undefined> {
    const flavor = [exchange.request.user!.subject as Flavor];
    return this.lists.respond(this.cookies.records, { ...query, flavor } as ListCookiesQuery, exchange);
  }
}

@Module({ imports: [CookiesModule], controllers: [FlavorsController] })
class FlavorsModule {}

describe('the cache of lists', () => {
  it('keeps lists up to a quarter of LIST_CACHE_BYTES, in bytes of UTF-8', async () => {
    // The limit for one list is 2 MB: 1500 records have 1.6 MB, and 2500 have 2.7 MB, in 1.4 million UTF-16 units.
    await start(2500, { LIST_CACHE_BYTES: '8000000' });
    for (const path of ['/cookies?after=1000', '/cookies'])
      expect(await statementsFor(path)).toBeGreaterThanOrEqual(FROM_DATABASE);
    expect(await statementsFor('/cookies?after=1000')).toBeLessThanOrEqual(FROM_CACHE);
    expect(await statementsFor('/cookies')).toBeGreaterThanOrEqual(FROM_DATABASE);
    expect(service.app.get(ListCache).bytes).toBeGreaterThan(1_500_000);
    expect(service.app.get(ListCache).bytes).toBeLessThan(2_000_000);
  });

  it('returns a short list for its query as before, with its header fields, and after a change a new one', async () => {
    await start(3);
    for (const path of ['/cookies', '/cookies?limit=2', '/cookies?flavor=vanilla', '/cookies?after=9']) {
      await client.request('PATCH', '/cookies/1', { body: { size: 'small' } });
      const first = await client.get(path);
      expect((await client.get('/cookies?limit=1')).body).toHaveLength(1);
      expect(await statementsFor(path)).toBeLessThanOrEqual(FROM_CACHE);
      for (const method of ['GET', 'HEAD']) {
        const again = await client.request(method, path);
        expect(again.text).toBe(method === 'HEAD' ? '' : first.text);
        expect(fieldsOf(again)).toEqual(fieldsOf(first));
      }
      await change();
      const changed = await client.get(path);
      expect(changed.headers.get('etag')).not.toBe(first.headers.get('etag'));
      expect(changed.body).toEqual(
        first.body.map((cookie: { id: number }) => (cookie.id === 1 ? { ...cookie, size: 'large' } : cookie)),
      );
    }
  });

  it('has one list for all URLs of a query, such as long ones with empty parameters', async () => {
    await start(3);
    const { body } = await client.get('/cookies?limit=2');
    const long = `/cookies?limit=2${'&'.repeat(10_000)}`;
    expect(await statementsFor(long)).toBeLessThanOrEqual(FROM_CACHE);
    expect(await client.get(long)).toMatchObject({ status: 200, body });
  });

  it('has one list for each subject if the handler changes the query', async () => {
    await start(3, {}, WISH, [FlavorsModule]);
    for (const subject of ['vanilla', 'chocolate', 'vanilla']) {
      const { body } = await Client.of(service, { subject }).get('/flavors');
      expect(body).toHaveLength(subject === 'vanilla' ? 3 : 0);
    }
  });

  it('is 500, and not a list of all records, if the handler sets a filter in a copy of the query', async () => {
    await start(3, { LOG_LEVEL: 'silent' }, WISH, [FlavorsModule]);
    expect((await client.get('/flavors/copied')).status).toBe(500);
  });

  it('links from a cached page to the next page of the URL of each request', async () => {
    await start(3, {}, WISH, [FlavorsModule]);
    const subject = Client.of(service, { subject: 'vanilla' });
    for (const flavor of ['vanilla', 'chocolate']) {
      const { headers } = await subject.get(`/flavors?flavor=${flavor}&limit=1`);
      expect(headers.get('link')).toContain(`/flavors?flavor=${flavor}&limit=1&after=1>`);
    }
  });

  it('frees the memory of an old list when its last reader leaves half-way', async () => {
    await start(LONG, { LIST_CACHE_BYTES: '60000000' });
    await client.get('/cookies');
    const cache = service.app.get(ListCache);
    const list = cache.bytes;
    expect(list).toBeGreaterThan(12_000_000);
    const reader = await StallingClient.get(service);
    await reader.read(50_000);
    await change();
    await client.get('/cookies');
    const held = cache.bytes;
    reader.leave();
    await untilMetric(service, IN_FLIGHT, 0);
    expect(held - cache.bytes).toBe(list);
  });
});

describe('a connection that stays open after GET /cookies', () => {
  const collectGarbage = exposedGc();

  /** Bytes of all buffers that are still referenced. */
  async function referencedBytes(): Promise<number> {
    // Node releases buffers of the last turns of its event loop a few turns later.
    for (let turn = 0; turn < 3; turn++) {
      await sleep(50);
      collectGarbage();
    }
    return process.memoryUsage().arrayBuffers;
  }

  it.each([
    ['read from the database', false],
    ['from the cache', true],
  ])('keeps nothing of the list %s, also after another request', async (_what, isCached) => {
    await start(5000, { LIST_CACHE_BYTES: '60000000' });
    await client.get('/cookies');
    const cache = service.app.get(ListCache);
    const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true }));
    const before = await referencedBytes();
    for (const agent of agents) {
      await client.request('PATCH', '/cookies/1', { body: { size: agents.indexOf(agent) % 2 ? 'small' : 'large' } });
      if (isCached) await client.get('/cookies');
      for (const path of ['/cookies', '/cookies/1']) await readOn(agent, path);
    }
    const held = (await referencedBytes()) - before;
    const open = (await metricsOf(service)).get('http_connections_open');
    for (const agent of agents) agent.destroy();
    expect(open).toBeGreaterThanOrEqual(agents.length);
    expect(cache.bytes).toBeGreaterThan(5_000_000);
    expect(held).toBeLessThan(cache.bytes / 2);
  });
});

/** Reads a response without keeping it, and leaves the connection of the agent open. */
async function readOn(agent: Agent, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${await token()}` };
  const sent = request(service.url + path, { agent, headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  await once(response.resume(), 'end');
}

describe('a reader of GET /cookies that stalls', () => {
  it.each([
    ['read from the database', '0'],
    ['from the cache', String(2 ** 28)],
  ])(
    'is cut off after LIST_TIMEOUT, without an error in the log, when the list is %s',
    async (_what, LIST_CACHE_BYTES) => {
      await start(LONG, { LIST_TIMEOUT: '3000', LIST_CACHE_BYTES });
      const logged = captureLog();
      if (LIST_CACHE_BYTES !== '0') await client.get('/cookies');
      const began = performance.now();
      const reader = await StallingClient.get(service);
      await reader.read(50_000);
      // This waits for up to 5 s.
      await untilMetric(service, IN_FLIGHT, 0);
      expect(performance.now() - began).toBeGreaterThan(2800);
      await reader.readAll();
      expect(endOf(reader)).toEqual([200, 'cut off']);
      const metrics = await metricsOf(service);
      expect(metrics.get('http_connections_cut_total{reason="stalled"}')).toBe(0);
      expect(metrics.get(CUT_OFF)).toBe(1);
      expect(logged).toEqual([]);
    },
  );

  it('is cut off after RESPONSE_STALL_TIMEOUT, and a reader that continues slowly for longer gets all of it', async () => {
    await start(18_000, { RESPONSE_STALL_TIMEOUT: '1000' });
    const [slow, stalled] = [await StallingClient.get(service), await StallingClient.get(service)];
    for (let turn = 0; turn < 10; turn++) {
      await slow.read(1_000_000);
      await sleep(250);
    }
    await slow.readAll();
    expect(endOf(slow)).toEqual([200, 'whole']);
    await untilMetric(service, IN_FLIGHT, 0);
    await stalled.readAll();
    expect(endOf(stalled)).toEqual([200, 'cut off']);
    await untilMetric(service, 'http_connections_cut_total{reason="stalled"}', 1);
  });
});

describePostgres('readers of GET /cookies on PostgreSQL, with one slot for long lists', () => {
  it('keep the slot while they read, and a newcomer is 503; a reader that pauses loses the slot', async () => {
    const DATABASE_URL = await createDatabase(`lists_${process.pid}`);
    // The client reads 1 MB in each turn, and the service sends more. Enough of the 39 MB remains at the end.
    const count = 3 * LONG;
    await start(count, { DATABASE_URL, DATABASE_LIST_POOL_SIZE: '2', LIST_CACHE_BYTES: '0' });
    const reader = await StallingClient.get(service);
    for (let turn = 0; turn < 5; turn++) {
      await sleep(250);
      await reader.read(1_000_000);
    }
    let hasResponse = false;
    const request = client.get('/cookies').finally(() => (hasResponse = true));
    // The client continues to read: on a loaded machine, even a short pause may cost it the place.
    while (!hasResponse && !reader.isClosed) {
      await sleep(100);
      await reader.read(1_000_000);
    }
    const second = await request;
    const fields = ['retry-after', 'etag', 'x-total-count'].map((name) => second.headers.get(name));
    expect([second.status, ...fields]).toEqual([503, '1', null, null]);
    expect(second.body.message).toMatch(/^1 long lists are read with this subject already/);
    expect(reader.isClosed).toBe(false);
    // The client stops reading. It counts as paused once its socket is full, which takes an unknown time.
    let third = await client.get('/cookies');
    for (let asked = 0; asked < 100 && third.status === 503; asked++) {
      await sleep(200);
      third = await client.get('/cookies');
    }
    expect([third.status, third.body.length]).toEqual([200, count]);
    await reader.readAll();
    expect(endOf(reader)).toEqual([200, 'cut off']);
  });
});
