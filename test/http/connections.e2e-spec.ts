import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket, TcpNetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Controller, Module, Post } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Public } from '../../src/auth/scopes.decorator.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import type { Environment } from '../../src/config/config.js';
import { connectionsOf } from '../../src/http/connections/connections.js';
import { until } from '../support/until.js';
import { metricsOf, untilMetric } from '../support/metrics.js';
import { connected, responsesIn } from '../support/raw-http.js';
import { type LoggedService, startLoggedService } from '../support/logged-service.js';
import { Client, COOKIE, startService, token } from '../support/service.js';

const RECORDS = 2000;

@Controller('echo')
class EchoController {
  @Post()
  @Public()
  echo(): string {
    return 'x'.repeat(200_000);
  }
}

@Module({ controllers: [EchoController] })
class EchoModule {}

let service: LoggedService;
let bearer: string;
let sockets: Socket[];

beforeEach(async () => {
  bearer = await token();
  sockets = [];
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await service.stop();
});

const openFile = () => openDatabase(join(service.folder, 'cookies.sqlite'));

/** Locks the database until its `close` is called. */
function lockedDatabase() {
  const database = openFile();
  database.exec('BEGIN IMMEDIATE');
  return database;
}

/** Starts the service on `RECORDS` cookies with the longest wishes; a page of 1000 of them has 300 KB. */
async function start(environment: Environment = {}): Promise<void> {
  service = await startLoggedService(environment);
  using database = openFile();
  database.exec(`
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${RECORDS})
    INSERT INTO cookies (flavor, size, wish) SELECT 'cinnamon', 'small', '${'w'.repeat(255)}' FROM numbers`);
}

async function connection(
  { reads = true, ...options }: Partial<TcpNetConnectOpts> & { reads?: boolean } = {},
  url = service.url,
): Promise<Socket> {
  const socket = await connected(url, { allowHalfOpen: true, ...options });
  sockets.push(socket);
  socket.on('end', () => socket.end());
  return reads ? socket : socket.pause();
}

function receivedBy(socket: Socket): () => Buffer {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks);
}

/** The statuses of all responses of a connection, when the service has closed it. */
async function statusesUntilClose(socket: Socket): Promise<number[]> {
  const received = receivedBy(socket);
  await once(socket, 'close', { signal: AbortSignal.timeout(20_000) });
  return responsesIn(received()).map(({ status }) => status);
}

async function expectServed(socket: Socket, path: string): Promise<void> {
  socket.write(get(path));
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
}

function get(path: string, id = 'get'): string {
  return `GET ${path} HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ${id}\r\nAuthorization: Bearer ${bearer}\r\n\r\n`;
}

/** Sends GET requests until their responses fill the sockets of both sides, and one waits for its reader. */
async function unreadResponse(path = '/cookies'): Promise<{ socket: Socket; requests: number }> {
  const socket = await connection({ reads: false });
  let requests = 0;
  await until(async () => {
    socket.write(get(path));
    requests += 1;
    await sleep(100);
    return (await metric('http_requests_in_flight')) === 1;
  }, 'a response waits for its reader');
  return { socket, requests };
}

const WITHOUT_TOKEN = 'GET /cookies HTTP/1.1\r\nHost: cookies\r\n\r\n';

/** A POST whose wish is also its request id. */
function post(wish: string): string {
  const body = JSON.stringify({ ...COOKIE, wish });
  const fields = `Host: cookies\r\nX-Request-Id: ${wish}\r\nAuthorization: Bearer ${bearer}`;
  return `POST /cookies HTTP/1.1\r\n${fields}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function logged(id: string): { msg: string; status?: number; route: string; address: string }[] {
  const lines = service.output.split('\n').filter((line) => line.includes(`"requestId":"${id}"`));
  return lines.map((line) => JSON.parse(line));
}

const metric = async (name: string): Promise<number> => (await metricsOf(service)).get(name)!;

function stored(wish: string): number {
  using database = openFile();
  return database.prepare('SELECT count(*) FROM cookies WHERE wish = ?').pluck().get(wish) as number;
}

describe('a client that sends requests and does not read', () => {
  // Some 20 of the responses fill the sockets of both sides, and 16 requests may wait.
  const pages = (): string[] => Array.from({ length: 60 }, (_, index) => get('/cookies?limit=1000', `page-${index}`));

  it('gets its responses later, in order, and requests behind an unread response are not executed before', async () => {
    await start();
    const socket = await connection({ reads: false });
    socket.write(pages().join('') + post('behind'));
    await until(() => logged('page-1').length === 1, 'the second page is answered');
    await sleep(500);
    expect(stored('behind')).toBe(0);
    expect(logged('page-59')).toEqual([]);
    const received = receivedBy(socket.resume());
    await until(() => logged('behind').length === 1, 'the POST is answered');
    socket.end();
    await once(socket, 'close');
    const responses = responsesIn(received());
    expect(responses.map(({ status }) => status)).toEqual([...pages().map(() => 200), 201]);
    expect(responses.map(({ headers }) => headers.get('x-request-id'))).toEqual([
      ...pages().map((_, index) => `page-${index}`),
      'behind',
    ]);
    expect(stored('behind')).toBe(1);
  });

  it.each([
    ['more requests wait than may', 60, 0],
    ['a response is unread when the next request comes', 14, 1],
  ])('has REQUEST_TIMEOUT for the rest of a request once the service reads on: %s', async (_why, first, later) => {
    await start({ REQUEST_TIMEOUT: '2000' });
    const some = (count: number): string => pages().slice(0, count).join('');
    const outcomeOf = async (rest?: string): Promise<number[]> => {
      const socket = await connection({ reads: false });
      socket.write(some(first));
      await sleep(500);
      socket.write(some(later) + post('behind').slice(0, -20));
      await sleep(2500);
      const statuses = statusesUntilClose(socket.resume());
      if (rest !== undefined) {
        await sleep(1000);
        socket.write(rest);
        await until(() => stored('behind') === 1, 'the POST is done');
        await sleep(2500);
        socket.end(get('/cookies/1'));
      }
      return statuses;
    };
    const [whole, half] = await Promise.all([outcomeOf(post('behind').slice(-20)), outcomeOf()]);
    expect(whole).toEqual([...Array<number>(first + later).fill(200), 201, 200]);
    expect(half).toEqual([...Array<number>(first + later).fill(200), 408]);
    expect(stored('behind')).toBe(1);
    await until(() => logged('behind').length === 2, 'the log has both');
  });

  it('is cut off when it takes nothing for RESPONSE_STALL_TIMEOUT, with one line in the log for each request', async () => {
    await start({ RESPONSE_STALL_TIMEOUT: '500' });
    const socket = await connection({ reads: false });
    const began = performance.now();
    socket.write(pages().join('') + post('behind'));
    await until(() => service.output.includes('request cut off'), 'the connection is cut off', 15_000);
    expect(performance.now() - began).toBeGreaterThan(500);
    socket.resume();
    await until(() => logged('behind').length > 0, 'the connection is cut off');
    const ends = pages().map((_, index) => logged(`page-${index}`).map(({ msg }) => msg));
    expect(ends.filter((lines) => lines.length !== 1)).toEqual([]);
    expect(ends.flat().filter((msg) => msg === 'request cut off')).toHaveLength(1);
    expect(logged('behind')).toMatchObject([{ msg: 'request dropped', method: 'POST' }]);
    expect(stored('behind')).toBe(0);
    expect(await metric('http_requests_in_flight')).toBe(0);
    expect(await metric('http_response_buffer_bytes')).toBe(0);
    expect(await metric('http_connections_cut_total{reason="stalled"}')).toBe(1);
  });

  it('is not cut off while it reads less than the kernel needs to accept further bytes', async () => {
    await start({ RESPONSE_STALL_TIMEOUT: '500' });
    const socket = await connection({ reads: false });
    socket.write(pages().join(''));
    const reading = setInterval(() => socket.read(Math.min(20_000, socket.readableLength)), 100);
    await sleep(4000);
    clearInterval(reading);
    expect(await metric('http_connections_cut_total{reason="stalled"}')).toBe(0);
    await untilMetric(service, 'http_connections_cut_total{reason="stalled"}', 1);
  });

  it('is cut off first when RESPONSE_BUFFER_BYTES is used up, and other clients still get their responses', async () => {
    await start({ RESPONSE_BUFFER_BYTES: '6000000' });
    const good = Client.of(service);
    for (let reader = 0; reader < 25; reader++) {
      (await connection({ reads: false })).write(pages().join(''));
      expect((await good.get('/cookies?limit=1000')).status).toBe(200);
      expect(await metric('http_response_buffer_bytes')).toBeLessThan(6_000_000);
    }
    await until(() => logged('page-59').length > 0, 'some have been cut off');
    expect(await metric('http_connections_cut_total{reason="overload"}')).toBeGreaterThan(0);
  });

  it('is cut off when WebSockets hold a quarter of RESPONSE_BUFFER_BYTES in messages, and a reader stays', async () => {
    await start({ RESPONSE_BUFFER_BYTES: '6000000' });
    const server = service.app.getHttpServer();
    server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
      connectionsOf(server).upgrade(request, 'upgrade');
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n\r\n${'m'.repeat(10_000_000)}`);
    });
    const [reader, idle] = [await connection(), await connection({ reads: false })];
    const received = receivedBy(reader);
    for (const socket of [reader, idle])
      socket.write(get('/').replace('Host', 'Connection: upgrade\r\nUpgrade: websocket\r\nHost'));
    await untilMetric(service, 'http_connections_cut_total{reason="overload"}', 1);
    expect(received().length).toBeGreaterThan(10_000_000);
    expect(reader.destroyed).toBe(false);
  });

  it('is cut off for another client only after clients that have read nothing for longer', async () => {
    await start({ RESPONSE_BUFFER_BYTES: '4000000' });
    const cuts = (): Promise<number> => metric('http_connections_cut_total{reason="overload"}');
    let readers = 0;
    for (; readers < 30 && (await cuts()) === 0; readers++) {
      const ids = Array.from({ length: 60 }, (_, index) => `reader-${readers}.${index}`);
      (await connection({ reads: false })).write(ids.map((id) => get('/cookies?limit=1000', id)).join(''));
      // The service checks once a second which clients have read.
      await sleep(1100);
    }
    const count = await cuts();
    expect(count).toBeLessThan(readers);
    const cutOff = (): string[] =>
      [...service.output.matchAll(/"reader-(\d+)\.\d+".*"request cut off"/g)].map(([, reader]) => reader!);
    await until(() => cutOff().length >= count, `${count} lines in the log`);
    expect(cutOff().toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: count }, (_, reader) => String(reader)),
    );
  });

  it('leaves one line with the status of a POST that takes effect after the client has reset the connection', async () => {
    await start();
    using lock = lockedDatabase();
    const socket = await connection();
    socket.write(post('reset'));
    await untilMetric(service, 'http_requests_in_flight', 1);
    socket.resetAndDestroy();
    await untilMetric(service, 'http_connections_open', 0);
    expect(logged('reset')).toEqual([]);
    lock.close();
    await until(() => logged('reset').length > 0, 'the POST is logged');
    expect(logged('reset')).toMatchObject([
      { msg: 'request cut off', status: 201, route: '/cookies', address: '127.0.0.1' },
    ]);
    expect(stored('reset')).toBe(1);
    expect(await metric('http_requests_in_flight')).toBe(0);
  });
});

describe('GET /cookies of a page for which RESPONSE_BUFFER_BYTES has no room', () => {
  it('is 503 without ETag and Link, with the fields of CORS and rate limits, and a short page is 200', async () => {
    const origin = 'https://pages.example';
    await start({ RESPONSE_BUFFER_BYTES: '65536', CORS_ORIGINS: origin, RATE_LIMIT_SUBJECT_LIST: '10' });
    const client = Client.of(service);
    const { status, headers, body } = await client.get('/cookies?limit=1000', { 'x-request-id': 'large', origin });
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('ratelimit')).toMatch(/^"subject-list";r=9;/);
    expect([status, headers.get('retry-after'), headers.get('cache-control')]).toEqual([503, '1', 'no-store']);
    expect(body).toMatchObject({ errorCode: 'SERVICE_UNAVAILABLE', requestId: 'large' });
    expect(['etag', 'link', 'x-total-count'].map((name) => headers.get(name))).toEqual([null, null, null]);
    expect(headers.get('x-request-id')).toBe('large');
    const short = await client.get('/cookies?limit=10');
    expect([short.status, short.headers.get('link')]).toEqual([200, expect.any(String)]);
    expect(await metric('http_response_buffer_bytes')).toBe(0);
  });

  it('is the response of a POST, even if it is as large', async () => {
    service = await startLoggedService({ RESPONSE_BUFFER_BYTES: '65536' }, [EchoModule]);
    const client = Client.of(service);
    const { status, text } = await client.request('POST', '/echo');
    expect([status, text.length]).toEqual([201, 200_000]);
  });
});

describe('a body of many small chunks', () => {
  const head = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: cookies\r\nAuthorization: Bearer ${bearer}\r\n` +
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  const cuts = (): Promise<number> => metric('http_connections_cut_total{reason="overload"}');
  const chunked = (text: string): string => [...text].map((byte) => `1\r\n${byte}\r\n`).join('');

  it('is accepted', async () => {
    await start();
    const socket = await connection();
    const requests = ['one', 'two'].map((wish) => {
      const body = JSON.stringify({ ...COOKIE, wish }).padEnd(15_000);
      return `${head('/cookies')}${chunked(body)}0\r\n\r\n`;
    });
    socket.write(requests.join('') + get('/cookies/1').replace('Host', 'Connection: close\r\nHost'));
    expect(await statusesUntilClose(socket)).toEqual([201, 201, 200]);
    expect([stored('one'), stored('two'), await cuts()]).toEqual([1, 1, 0]);
  });

  it('ends its connection after REQUEST_TIMEOUT, if it goes on after the response', async () => {
    await start({ REQUEST_TIMEOUT: '1000' });
    const socket = await connection();
    socket.resume().write(head('/unknown'));
    const chunks = chunked('x'.repeat(10_000));
    const sending = setInterval(() => socket.write(chunks), 50);
    await once(socket, 'close', { signal: AbortSignal.timeout(10_000) }).finally(() => clearInterval(sending));
    expect(await cuts()).toBe(0);
  });
});

describe('a client that sends more requests than it reads responses', () => {
  it('has 16 requests waiting behind a slow one, and finally gets a response to each of its requests', async () => {
    await start({ DATABASE_BUSY_TIMEOUT: '60000' });
    const socket = await connection();
    const received = receivedBy(socket);
    const text = () => received().toString();
    using lock = lockedDatabase();
    const requests = Array.from({ length: 1000 }, (_, index) => get('/cookies/1', `behind-${index}`));
    socket.write(post('held') + requests.join(''));
    const waiting = () => metric('http_response_buffer_bytes');
    await until(async () => (await waiting()) >= 16 * 4096, '16 requests wait');
    await sleep(200);
    // Requests in one chunk with the sixteenth are read, too. Node reads at most 64 KiB from a socket at once.
    const inOnePiece = Math.ceil(65_536 / requests[0]!.length);
    expect(await waiting()).toBeLessThanOrEqual((16 + inOnePiece) * 4096);
    lock.close();
    await until(
      () => text().split('HTTP/1.1 ').length === 1002 && text().endsWith('}'),
      () => `${text().split('HTTP/1.1 ').length - 1} responses of 1001 have come`,
    );
    expect(responsesIn(received()).map(({ status }) => status)).toEqual([201, ...Array<number>(1000).fill(200)]);
    expect(await waiting()).toBe(0);
  });

  it('lets another client have its turn after each of its requests', async () => {
    await start();
    const [one, other] = [await connection(), await connection()];
    await expectServed(other, '/cookies/1');
    const received = receivedBy(one);
    const responses = () => received().toString().split('HTTP/1.1 401 ').length - 1;
    one.write(WITHOUT_TOKEN.repeat(1000));
    await expectServed(other, '/cookies/2');
    expect(responses()).toBeLessThan(100);
    await until(() => responses() === 1000, 'each request has a response');
  });

  it('is disconnected when waiting requests fill the memory, and the rest of its packet is not parsed', async () => {
    await start({ RESPONSE_BUFFER_BYTES: '65536' });
    const closed = Array.from({ length: 20 }, async () => {
      const socket = await connection();
      socket.write(WITHOUT_TOKEN.repeat(1000));
      await once(socket, 'close');
    });
    await Promise.all(closed);
    expect(await metric('http_connections_cut_total{reason="overload"}')).toBe(20);
    expect(service.output.split('"route":"unknown"').length).toBeLessThan(20 * 50);
  });

  it('gets 400 for HTTP/1.0 requests beyond those that may wait, whose packet would be searched for each', async () => {
    await start();
    const socket = await connection();
    socket.write('GET /unknown HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'.repeat(1000));
    const statuses = await statusesUntilClose(socket);
    expect(statuses.splice(-1)).toEqual([400]);
    expect(statuses).toEqual(Array(17).fill(404));
  });

  it('is not read any more after the last response of its connection', async () => {
    await start();
    const socket = await connection();
    socket.write(WITHOUT_TOKEN.replace('cookies\r', 'a b\r'));
    await once(socket, 'data');
    socket.write(WITHOUT_TOKEN.repeat(20_000));
    await once(socket, 'close');
    const inOnePacket = Math.ceil(65_536 / WITHOUT_TOKEN.length);
    expect(service.output.split('request dropped').length - 1).toBeLessThanOrEqual(inOnePacket);
  });
});

describe('connections', () => {
  const TOO_MANY = 'http_connections_cut_total{reason="too many connections"}';

  it('are bounded for each address: the oldest that has sent nothing gives way to a newcomer', async () => {
    await start({ MAX_CONNECTIONS_PER_ADDRESS: '10' });
    const first = await connection();
    await expectServed(first, '/cookies/1');
    const unused: Socket[] = [];
    for (let number = 0; number < 30; number++) unused.push(await connection());
    await untilMetric(service, TOO_MANY, 21);
    await untilMetric(service, 'http_connections_open', 10);
    expect(await metric(TOO_MANY)).toBe(21);
    // A connection that has sent a request is kept longer than unused ones.
    await expectServed(first, '/cookies/2');
    await expectServed(unused.at(-9)!, '/cookies/1');
  });

  it('are limited to MAX_CONNECTIONS exactly, with a place for each address that has few', async () => {
    await start({ MAX_CONNECTIONS: '5', MAX_CONNECTIONS_PER_ADDRESS: '3', HOST: '::' });
    for (const localAddress of ['127.0.0.2', '127.0.0.3', '127.0.0.3'])
      await connection({ host: '127.0.0.1', localAddress });
    for (let number = 0; number < 2; number++) await connection({ host: '127.0.0.1', localAddress: '127.0.0.2' });
    await untilMetric(service, 'http_connections_open', 5);
    expect(await metric(TOO_MANY)).toBe(0);
    await connection({ host: '127.0.0.1', localAddress: '127.0.0.4' });
    await untilMetric(service, TOO_MANY, 1);
    expect(await metric('http_connections_open')).toBe(5);
  });

  const HALF_HEAD = 'GET /cookies HTTP/1.1\r\nHost: coo';
  const HALF_BODY = 'POST /cookies HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nContent-Type: application/json\r\n';

  it.each([
    ['url', 'half a header section', HALF_HEAD],
    ['url', 'half a body', `${HALF_BODY}Authorization: Bearer TOKEN\r\n\r\nabc`],
    ['managementUrl', 'half a header section', HALF_HEAD],
  ] as const)('end with 408 when after REQUEST_TIMEOUT there is still (at %s) %s', async (port, _what, half) => {
    await start({ REQUEST_TIMEOUT: '1000' });
    const socket = await connection({}, service[port]);
    const began = performance.now();
    socket.write(half.replace('TOKEN', bearer));
    // Node's own check runs only every 30 s.
    expect(await statusesUntilClose(socket)).toEqual([408]);
    expect(performance.now() - began).toBeGreaterThan(950);
  });

  it('whose requests are still arriving give way to a newcomer', async () => {
    await start({ MAX_CONNECTIONS: '10' });
    const arriving = `${HALF_BODY}Authorization: Bearer ${bearer}\r\n\r\nabc`;
    for (let number = 0; number < 12; number++) (await connection()).write(arriving);
    await untilMetric(service, 'http_requests_in_flight', 10);
    await expectServed(await connection(), '/cookies/1');
  });

  it('have no limit for each address if they come from a proxy in TRUST_PROXY', async () => {
    await start({ MAX_CONNECTIONS_PER_ADDRESS: '3', TRUST_PROXY: 'loopback' });
    for (let number = 0; number < 10; number++) await connection();
    await untilMetric(service, 'http_connections_open', 10);
    expect(await metric(TOO_MANY)).toBe(0);
  });

  it('to the management port are limited to 200', async () => {
    await start();
    const sockets = await Promise.all(Array.from({ length: 200 }, () => connection({}, service.managementUrl)));
    const last = await connection({}, service.managementUrl);
    // Connections are accepted in order.
    await expectServed(last, '/health/live');
    await sleep(200);
    expect(sockets.filter(({ destroyed }) => destroyed).length).toBe(1);
  });

  it('are closed when they have been idle for KEEP_ALIVE_TIMEOUT', async () => {
    await start({ KEEP_ALIVE_TIMEOUT: '3000', RESPONSE_STALL_TIMEOUT: '500' });
    const socket = await connection();
    await expectServed(socket, '/cookies/1');
    const began = performance.now();
    await once(socket, 'close', { signal: AbortSignal.timeout(10_000) });
    expect(performance.now() - began).toBeGreaterThan(2950);
  });

  it('are closed 2 s after an error that ends them, also where the client keeps its side open', async () => {
    await start();
    const socket = await connected(service.url, { allowHalfOpen: true });
    sockets.push(socket);
    const began = performance.now();
    socket.write('nonsense\r\n\r\n');
    const [response] = (await once(socket, 'data')) as [Buffer];
    expect(responsesIn(response).map(({ status }) => status)).toEqual([400]);
    await untilMetric(service, 'http_connections_open', 0);
    expect(performance.now() - began).toBeGreaterThan(1950);
  });

  it('are not reset when their client sends further packets after an error', async () => {
    await start();
    const socket = await connected(service.url, { allowHalfOpen: true, noDelay: true });
    sockets.push(socket.resume());
    const closed = once(socket, 'close');
    for (let packets = 0; packets < 10; packets++) {
      socket.write('nonsense\r\n\r\n');
      await sleep(20);
    }
    expect(socket.errored).toBeNull();
    socket.end();
    await closed;
  });

  it('use TCP keep-alive, which detects a client that has vanished', async () => {
    await start();
    const { localPort } = await connection();
    const hex = (port: number) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const ends = new RegExp(`^ *\\d+: \\w+${hex(Number(new URL(service.url).port))} \\w+${hex(localPort!)} `);
    const ofService = () =>
      readFileSync('/proc/net/tcp', 'utf8')
        .split('\n')
        .find((line) => ends.test(line));
    // The sixth column of proc(5) begins with the kind of timer; 02 is that of TCP keep-alive.
    await until(() => ofService()?.trim().split(/\s+/)[5]?.startsWith('02:') === true, 'a timer of TCP keep-alive');
  });

  it.each(['/cookies', '/cookies?limit=1000'])(
    'get their whole response when the application is closed meanwhile, and are closed after it: GET %s',
    async (path) => {
      await start();
      const { socket, requests } = await unreadResponse(path);
      const closed = service.app.close();
      await sleep(500);
      expect(await statusesUntilClose(socket.resume())).toEqual(Array<number>(requests).fill(200));
      await closed;
    },
  );

  it('get their responses if they still waited to be accepted when the port closed', async () => {
    await start();
    const waiting = await Promise.all(Array.from({ length: 20 }, () => connection()));
    for (const socket of waiting) socket.write(post('waiting'));
    const finished = connectionsOf(service.app.getHttpServer()).finish(10_000, 500);
    const statuses = await Promise.all(waiting.map((socket) => statusesUntilClose(socket)));
    expect(statuses).toEqual(waiting.map(() => [201]));
    await finished;
  });

  it('serve one more request when a response without `Connection: close` was being sent as the port closed', async () => {
    await start();
    const { socket, requests } = await unreadResponse();
    const finished = connectionsOf(service.app.getHttpServer()).finish(20_000, 5000);
    await sleep(500);
    const statuses = statusesUntilClose(socket.resume());
    await untilMetric(service, 'http_requests_in_flight', 0);
    socket.write(get('/cookies/1'));
    expect(await statuses).toEqual(Array<number>(requests + 1).fill(200));
    await finished;
  });

  it('are not closed by listeners of app.enableShutdownHooks() before SHUTDOWN_DELAY', async () => {
    await start();
    const listeners = process.listenerCount('SIGTERM');
    expect(service.app.enableShutdownHooks()).toBe(service.app);
    expect(process.listenerCount('SIGTERM')).toBe(listeners);
  });

  it('have a timer that an application without a port does not leave behind', async () => {
    await start();
    const [begun, ended] = [jest.spyOn(globalThis, 'setInterval'), jest.spyOn(globalThis, 'clearInterval')];
    const initAndClose = async (app: NestFastifyApplication): Promise<never> => {
      await app.init();
      await app.close();
      throw new Error('It does not listen');
    };
    await expect(startService({}, [], [], undefined, initAndClose)).rejects.toThrow('It does not listen');
    const timers = new Set(begun.mock.results.map(({ value }) => value));
    for (const [timer] of ended.mock.calls) timers.delete(timer);
    jest.restoreAllMocks();
    expect(timers.size).toBe(0);
  });

  it('are closed without a response when nothing was sent on them', async () => {
    await start({ REQUEST_TIMEOUT: '1000' });
    expect(await statusesUntilClose(await connection())).toEqual([]);
  });
});
