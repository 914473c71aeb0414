import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { DatabaseUnavailableError, OutcomeUnknownError } from '../../src/database/errors.js';
import type { PostgresDriver } from '../../src/database/postgres/postgres-driver.js';
import { CookiesService } from '../../src/cookies/cookies.service.js';
import { openDataSource } from '../support/data-source.js';
import { createDatabase, describePostgres } from '../support/engine.js';
import { until } from '../support/until.js';
import { requestUntil } from '../support/load/request-until.js';
import { endSessions, onServer, PostgresServer, setDefault } from '../support/postgres/postgres-server.js';
import { type Answer, Client, COOKIE, sharedService, startService } from '../support/service.js';
import { shared } from '../support/shared.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';

const UNAVAILABLE = [503, 'SERVICE_UNAVAILABLE', '1'];
const outcomeOf = ({ status, body, headers }: Answer) => [status, body.errorCode, headers.get('retry-after')];

let databases = 0;
const freshDatabase = () => createDatabase(`connections_${process.pid}_${++databases}`);

describePostgres('a database whose transactions are SERIALIZABLE by default', () => {
  it('makes no concurrent write of two services 503', async () => {
    const url = await freshDatabase();
    await setDefault(url, "default_transaction_isolation = 'serializable'");
    await using first = await startService({ DATABASE_URL: url });
    await using second = await startService({ DATABASE_URL: url });
    const clients = [Client.of(first), Client.of(second)];
    const statusesOf = async (
      send: (client: Client, index: number) => Promise<{ status: number }>,
    ): Promise<number[]> => {
      const responses = await Promise.all(Array.from({ length: 60 }, (_, index) => send(clients[index % 2]!, index)));
      return [...new Set(responses.map(({ status }) => status))];
    };
    expect(await statusesOf((client) => client.post(COOKIE))).toEqual([201]);
    const sizes = ['small', 'medium', 'large'];
    const patch = (client: Client, index: number) =>
      client.request('PATCH', '/cookies/1', { body: { size: sizes[index % 3] } });
    expect(await statusesOf(patch)).toEqual([204]);
  });
});

describePostgres('a server with 12 slots, 3 of them reserved', () => {
  const server = shared(() => PostgresServer.create({ max_connections: '12', superuser_reserved_connections: '3' }));
  let url: string;

  beforeAll(async () => {
    await onServer(server.url(), async (client) => {
      await client.query(`CREATE ROLE ordinary LOGIN PASSWORD 'secret'`);
      await client.query('CREATE DATABASE small OWNER ordinary');
    });
    url = server.url('small').replace(/\/\/[^@]+@/, '//ordinary:secret@');
  });

  it('serves 60 clients of one service with pools of 10 and 8 without a 503, and rejects fewer than 40 connections', async () => {
    await using service = await startService({ DATABASE_URL: url });
    const statuses = await requestUntil(AbortSignal.timeout(1500), service, 60);
    const rejected = rejections();
    expect([...statuses.keys()].filter((status) => !/ 20[01]$/.test(status))).toEqual([]);
    expect(rejected).toBeGreaterThan(0);
    expect(rejected).toBeLessThan(40);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
  });

  const rejections = (): number => server.output.match(/FATAL: .*(too many clients|connection slots)/g)?.length ?? 0;

  /**
   * Takes slots with other clients.
   * @param retry called before each attempt, because others may take a freed slot first
   * @returns a function that frees the slots
   */
  const occupy = async (
    slots: number,
    retry = (): Promise<void> => Promise.resolve(),
  ): Promise<() => Promise<void>> => {
    let leave = (): void => undefined;
    const leaving = new Promise<void>((resolve) => (leave = resolve));
    const others: Promise<unknown>[] = [];
    let held = 0;
    const hold = (): Promise<void> => {
      held++;
      return leaving;
    };
    for (let attempt = 0; held < slots && attempt < 100; attempt++) {
      await retry();
      for (let slot = held; slot < slots; slot++) others.push(onServer(url, hold).catch(() => undefined));
      await sleep(100);
    }
    expect(held).toBe(slots);
    return async () => {
      leave();
      await Promise.all(others);
    };
  };

  it('is not asked in a loop while a firewall has forgotten the old connections, whose slots it keeps', async () => {
    await using proxy = await TcpProxy.start(url);
    await using dataSource = await openDataSource({ DATABASE_URL: proxy.url, DATABASE_BUSY_TIMEOUT: '1000' });
    await Promise.all(Array.from({ length: 5 }, () => dataSource.query('SELECT pg_sleep(0.1)')));
    const free = await occupy(4);
    proxy.silenceConnections();
    const { hosts } = dataSource.driver as PostgresDriver;
    hosts.distrust(hosts.generation);
    const before = rejections();
    const queries = Array.from({ length: 10 }, () => dataSource.query('SELECT 1').catch(() => 'rejected'));
    expect(await Promise.race([Promise.all(queries), sleep(5000)])).toEqual(Array(10).fill('rejected'));
    expect(rejections() - before).toBeLessThan(20);
    await free();
  });

  it('without a free slot makes requests 503 in time, and serves as soon as a slot is free', async () => {
    await using service = await startService({ DATABASE_URL: url, DATABASE_BUSY_TIMEOUT: '1000' });
    const client = Client.of(service);
    const free = await occupy(9, () => endSessions(server.url()));
    const began = performance.now();
    const responses = await Promise.all(Array.from({ length: 10 }, () => client.get('/cookies/987654321')));
    for (const response of responses) expect(outcomeOf(response)).toEqual(UNAVAILABLE);
    // The default is 5 s.
    expect(performance.now() - began).toBeLessThan(4000);
    await free();
    // Sessions of disconnected clients end a little later.
    let second = await client.get('/cookies/987654321');
    for (let asked = 0; asked < 20 && second.status === 503; asked++) second = await client.get('/cookies/987654321');
    expect(second.status).toBe(404);
  });
});

describePostgres('a server that is frozen', () => {
  const server = shared(() => PostgresServer.create());
  const timeouts = { DATABASE_BUSY_TIMEOUT: '1000', DATABASE_STATEMENT_TIMEOUT: '1000' };
  const { service, client } = sharedService(() => ({ DATABASE_URL: server.url(), ...timeouts }));

  beforeAll(async () => expect((await client.post(COOKIE)).status).toBe(201));

  afterEach(() => server.thaw());

  it('makes none of 1000 creates and 1000 reads wait longer than for a batch, a connection and a statement', async () => {
    // Not over HTTP, because the time to accept 2000 connections is not measured here.
    const { records: cookies } = service.app.get(CookiesService);
    server.freeze();
    const began = performance.now();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 1000 }, () => [cookies.create(COOKIE), cookies.get(1)]).flat(),
    );
    const longest = performance.now() - began;
    const names = outcomes.map((one) => (one.status === 'rejected' ? (one.reason as Error).name : 'fulfilled'));
    expect(new Set(names)).toEqual(new Set([DatabaseUnavailableError.name]));
    // The busy time-out twice, the statement's time-out with a second of grace, and a reserve.
    expect(longest).toBeLessThan(1000 + 1000 + 2000 + 4000);
    const list = await client.get('/cookies');
    expect([list.status, (await client.post(COOKIE)).status]).toEqual([503, 503]);
    server.thaw();
    await until(async () => (await client.post(COOKIE)).status === 201, 'the server is used again');
  });
});

describePostgres('hosts of which some never respond', () => {
  const silent: Server[] = [];

  beforeAll(async () => {
    for (let index = 0; index < 3; index++) {
      const server = createServer(() => undefined).listen(0, '127.0.0.1');
      await once(server, 'listening');
      silent.push(server);
    }
  });

  afterAll(() => silent.forEach((server) => server.close()));

  const address = (server: Server): string => `127.0.0.1:${(server.address() as { port: number }).port}`;

  const start = async (DATABASE_URL: string, DATABASE_BUSY_TIMEOUT: string): Promise<[string, number]> => {
    const began = performance.now();
    const outcome = await openDataSource({ DATABASE_URL, DATABASE_BUSY_TIMEOUT }).then(
      (source) => source.destroy().then(() => 'started'),
      (error: Error) => error.message,
    );
    return [outcome, performance.now() - began];
  };

  it('are skipped for one that responds, within one DATABASE_BUSY_TIMEOUT', async () => {
    const url = await freshDatabase();
    const hosts = [...silent.map(address), new URL(url).host].join(',');
    const [outcome, milliseconds] = await start(url.replace(/@[^/]+/, `@${hosts}`), '6000');
    expect(outcome).toBe('started');
    expect(milliseconds).toBeLessThan(6000);
  });

  it('fail within one DATABASE_BUSY_TIMEOUT if none responds', async () => {
    const url = await freshDatabase();
    const [outcome, milliseconds] = await start(url.replace(/@[^/]+/, `@${silent.map(address).join(',')}`), '900');
    expect(outcome).toMatch(/does not respond in time/);
    // One time-out for each host would take 2700 ms.
    expect(milliseconds).toBeLessThan(2700);
  });
});

let url: string;
let proxy: TcpProxy;

/** A service that reaches its database through a proxy, for the tests of a block. */
function behindProxy(environment: Record<string, string> = {}): ReturnType<typeof sharedService> {
  beforeAll(async () => {
    url = await freshDatabase();
    proxy = await TcpProxy.start(url);
  });
  const service = sharedService(() => ({ DATABASE_URL: proxy.url, ...environment }));
  afterAll(() => proxy[Symbol.asyncDispose]());
  return service;
}

/** The number of rows that a SELECT finds in the database behind the proxy. */
const countOf = async (sql: string, parameters: unknown[] = []): Promise<number> =>
  (await onServer(url, (session) => session.query(sql, parameters))).rows.length;

describePostgres('a server that accepts no further connection', () => {
  const { client } = behindProxy({ DATABASE_BUSY_TIMEOUT: '10000' });

  it.each(['silent', 'reset'] as const)('serves 30 clients by those that are open (new ones: %s)', async (how) => {
    const { headers } = await client.post(COOKIE);
    const path = headers.get('location')!;
    proxy.failNewConnections(how);
    const patch = () => client.request('PATCH', path, { body: { size: 'large' } });
    const statuses = await Promise.all(Array.from({ length: 30 }, async () => (await patch()).status));
    proxy.failNewConnections(undefined);
    expect([...new Set(statuses)]).toEqual([204]);
  });
});

describePostgres('a pooled connection that turns out to be broken', () => {
  const { service, client } = behindProxy();

  beforeAll(async () => expect((await client.post(COOKIE)).status).toBe(201));

  /** Makes some idle connections in every pool, and breaks all of them. */
  const breakPools = async (): Promise<void> => {
    await Promise.all(Array.from({ length: 6 }, () => client.get('/cookies')));
    await Promise.all(Array.from({ length: 6 }, () => client.request('PATCH', '/cookies/1', { body: {} })));
    proxy.breakAtNextUse();
  };

  it.each(['/cookies', '/cookies?limit=1', '/cookies/1'])('does not fail GET %s', async (path) => {
    await breakPools();
    expect((await client.get(path)).status).toBe(200);
  });

  it('does not fail POST, PATCH and DELETE', async () => {
    await breakPools();
    expect((await client.post(COOKIE)).status).toBe(201);
    await breakPools();
    expect((await client.request('PATCH', '/cookies/1', { body: { size: 'large' } })).status).toBe(204);
    await breakPools();
    expect((await client.request('DELETE', '/cookies/2')).status).toBe(204);
  });

  it('does not fail readiness', async () => {
    await fetch(`${service.managementUrl}/health/ready`);
    await breakPools();
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
  });
});

describePostgres('a response to COMMIT that is lost', () => {
  const { service, client } = behindProxy();

  beforeAll(() => service.app.get(DataSource).query('CREATE TABLE notes (id int)'));

  afterEach(() => proxy.loseResponseTo(undefined));

  const expectUnknown = (answer: Answer): void => {
    expect(outcomeOf(answer)).toEqual([503, 'OUTCOME_UNKNOWN', null]);
    expect(answer.body.message).toMatch(/Look first, then repeat/);
  };

  const rowsOf = (wish: string) => countOf('SELECT FROM cookies WHERE wish = $1', [wish]);

  it.each([
    ['a connection that is reset', undefined],
    ['what PgBouncer says when it has lost the server', errorMessage('FATAL', '08P01', 'server conn crashed?')],
  ])('by %s makes a POST 503 OUTCOME_UNKNOWN without Retry-After, sent once and stored once', async (how, farewell) => {
    proxy.loseResponseTo('; COMMIT', farewell);
    expectUnknown(await client.post({ ...COOKIE, wish: how }));
    expect(proxy.seen).toBe(1);
    expect(await rowsOf(how)).toBe(1);
  });

  it('makes a POST with a key 503 with Retry-After, and its repetition the first response', async () => {
    proxy.loseResponseTo('; COMMIT');
    const headers = { 'idempotency-key': 'lost' };
    const lost = await client.post({ ...COOKIE, wish: 'keyed' }, headers);
    expect(outcomeOf(lost)).toEqual([503, 'OUTCOME_UNKNOWN', '1']);
    expect(lost.body.message).toMatch(/with an Idempotency-Key can be repeated without a look/);
    proxy.loseResponseTo(undefined);
    const repeated = await client.post({ ...COOKIE, wish: 'keyed' }, headers);
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(await rowsOf('keyed')).toBe(1);
  });

  it('has the response that is documented', async () => {
    proxy.loseResponseTo('; COMMIT');
    const { body } = await client.post(COOKIE);
    const document = JSON.parse((await client.get('/openapi.json')).text);
    const { examples } = document.paths['/cookies'].post.responses[503].content['application/json'];
    expect({ ...examples.outcomeUnknown.value, requestId: body.requestId }).toEqual(body);
  });

  it('is shared by the POSTs of one batch, each stored once', async () => {
    proxy.loseResponseTo('; COMMIT');
    const responses = await Promise.all(Array.from({ length: 20 }, () => client.post({ ...COOKIE, wish: 'shared' })));
    responses.forEach(expectUnknown);
    expect(await rowsOf('shared')).toBe(20);
    expect(proxy.seen).toBeLessThan(20);
  });

  it('makes PATCH, PUT and DELETE 503 OUTCOME_UNKNOWN, and the change is made once', async () => {
    const { body } = await client.post(COOKIE);
    const path = `/cookies/${body.id}`;
    proxy.loseResponseTo('; COMMIT');
    expectUnknown(await client.request('PATCH', path, { body: { size: 'large' } }));
    expectUnknown(await client.request('PUT', path, { body: { flavor: 'cinnamon', size: 'medium' } }));
    expectUnknown(await client.request('DELETE', path));
    expect(proxy.seen).toBe(3);
    proxy.loseResponseTo(undefined);
    expect((await client.get(path)).status).toBe(404);
  });

  it('is an OutcomeUnknownError of plain TypeORM, in a transaction and outside of one', async () => {
    const source = service.app.get(DataSource);
    proxy.loseResponseTo('; COMMIT');
    const transaction = source.transaction((manager) => manager.query('INSERT INTO notes VALUES (1)'));
    await expect(transaction).rejects.toThrow(OutcomeUnknownError);
    proxy.loseResponseTo('INSERT INTO notes');
    await expect(source.query('INSERT INTO notes VALUES (2)')).rejects.toThrow(OutcomeUnknownError);
    expect(proxy.seen).toBe(1);
    expect(await countOf('SELECT FROM notes')).toBe(2);
  });

  it('before COMMIT is 503 with Retry-After, and nothing is stored', async () => {
    proxy.loseResponseTo('INSERT INTO "cookies"');
    expect(outcomeOf(await client.post({ ...COOKIE, wish: 'never' }))).toEqual(UNAVAILABLE);
    expect(await rowsOf('never')).toBe(0);
  });
});

/** ErrorResponse (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
function errorMessage(severity: string, code: string, message: string): Buffer {
  const fields = Buffer.from(`S${severity}\0C${code}\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

describePostgres('a server that is silent to a statement', () => {
  // Enough time for a second attempt, which must not happen.
  const timeouts = { DATABASE_BUSY_TIMEOUT: '5000', DATABASE_STATEMENT_TIMEOUT: '100' };
  const { client } = behindProxy({ LOG_LEVEL: 'silent', LIST_CACHE_BYTES: '0', ...timeouts });

  it.each([
    ['GET of a record', 'FROM "cookies"', () => client.get('/cookies/1')],
    ['GET of the list', 'REPEATABLE READ', () => client.get('/cookies')],
    ['POST', 'BEGIN', () => client.post(COOKIE)],
    ['POST before its COMMIT', 'INSERT INTO "cookies"', () => client.post(COOKIE)],
  ])(
    'makes %s 503 with Retry-After, and is asked once, because another attempt would take as long',
    async (_what, sql, send) => {
      proxy.loseRequest(sql);
      expect(outcomeOf(await send())).toEqual(UNAVAILABLE);
      expect(proxy.seen).toBe(1);
      proxy.loseRequest(undefined);
      expect((await client.get('/cookies')).body).toEqual([]);
    },
  );
});
