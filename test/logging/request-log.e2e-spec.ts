import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Body, type CanActivate, Controller, Get, Logger, Module, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { TimeoutError } from 'rxjs';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { CreateCookieDto } from '../../src/cookies/dto/cookie.dto.js';
import { type Connections, connectionsOf } from '../../src/http/connections/connections.js';
import { until } from '../support/until.js';
import { captureLog, problemsIn } from '../support/captured-log.js';
import { Client, COOKIE, sharedService, startService, temporaryFolder, token } from '../support/service.js';
import { type LogLine, ServiceProcess } from '../support/service-process.js';
import { shared } from '../support/shared.js';
import { AccountGuard } from '../support/account-guard.js';
import { StallingClient } from '../support/faults/stalling-client.js';
import { exchange } from '../support/raw-http.js';
import { untilMetric } from '../support/metrics.js';

const folder = temporaryFolder();
const service = shared(() =>
  ServiceProcess.start(folder, {
    COOKIES_CAPACITY: '2',
    CORS_ORIGINS: 'https://app.example',
    DATABASE_BUSY_TIMEOUT: '300',
    RESPONSE_STALL_TIMEOUT: '600000',
    TRUST_PROXY: 'loopback',
  }),
);

/** Waits for the first line with this request id, and returns all of them. */
async function logged(id: string): Promise<LogLine[]> {
  const lines = () => service.lines.filter(({ requestId }) => requestId === id);
  await until(() => lines().length > 0, `a line of request ${id}`);
  return lines();
}

type Asked = [what: string, id: string, method: string, path: string, body: unknown, status: number, route: string];

const ASKED: readonly Asked[] = [
  ['a POST', 'post', 'POST', '/cookies', COOKIE, 201, '/cookies'],
  ['a GET, with the pattern of its route', 'get', 'GET', '/cookies/1?', undefined, 200, '/cookies/:id'],
  ['a PATCH', 'patch', 'PATCH', '/cookies/1', { size: 'large' }, 204, '/cookies/:id'],
  ['a rejected body', 'body', 'POST', '/cookies', { wish: 'secret wish' }, 400, '/cookies'],
  ['an unknown record', 'record', 'GET', '/cookies/987', undefined, 404, '/cookies/:id'],
  ['an unknown path, without that path', 'path', 'GET', '/secret-path?x=secret', undefined, 404, 'unknown'],
  ['an unknown method', 'method', 'POST', '/cookies/1', {}, 405, 'unknown'],
  ['a path that cannot be decoded', 'decode', 'GET', '/secret%zz', undefined, 400, 'unknown'],
];

it.each([
  ['is not logged if it is no address', '<script>', '127.0.0.1'],
  ['is logged without its brackets', '[2001:db8::7]', '2001:db8::7'],
  ['is logged as IPv4 if it is mapped', '::ffff:192.0.2.7', '192.0.2.7'],
])('a forwarded address %s: %s', async (_what, forwarded, address) => {
  const id = `forwarded-${forwarded.length}`;
  await fetch(`${service.url}/cookies`, { headers: { 'x-request-id': id, 'x-forwarded-for': forwarded } });
  expect(await logged(id)).toMatchObject([{ address }]);
});

describe('the log has one line for', () => {
  // Request lines are written in blocks, so all requests are sent before their lines are read.
  beforeAll(async () => {
    const client = Client.of(service, { subject: 'carol' });
    for (const [, id, method, path, body, status] of ASKED) {
      const headers = { 'x-request-id': id, 'x-forwarded-for': '192.0.2.7' };
      expect((await client.request(method, path, { body, headers })).status).toBe(status);
    }
    await Client.bearing(service).get('/cookies', { 'x-request-id': 'no-token' });
  });

  it.each(ASKED)('%s', async (_what, id, method, _path, _body, status, route) => {
    const [line, ...others] = await logged(id);
    expect(others).toEqual([]);
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      requestId: id,
      method,
      route,
      status,
      milliseconds: expect.any(Number),
      // The subject is known only if the route checks the token.
      ...(route !== 'unknown' && { subject: 'carol' }),
      // For requests that Fastify rejects before its hooks, only the address of the connection is known.
      address: id === 'decode' ? '127.0.0.1' : '192.0.2.7',
      msg: 'request',
    });
    expect(line!['milliseconds']).toBeGreaterThan(0);
    expect(service.output).not.toContain('secret');
  });

  it('a preflight of an unknown path, with the id of its response and the address of the client', async () => {
    const headers = {
      origin: 'https://app.example',
      'access-control-request-method': 'PUT',
      'x-forwarded-for': '192.0.2.7',
    };
    const response = await Client.bearing(service).request('OPTIONS', '/nowhere', { headers });
    const lines = await logged(response.headers.get('x-request-id')!);
    expect(lines).toMatchObject([{ method: 'OPTIONS', status: 204, address: '192.0.2.7' }]);
  });

  it('a request without a token, without a subject', async () => {
    const [line, ...others] = await logged('no-token');
    expect([line, others]).toEqual([expect.objectContaining({ status: 401, route: '/cookies', msg: 'request' }), []]);
    expect(line).not.toHaveProperty('subject');
  });

  it('a 503, with its waiting time in milliseconds, and one warning for all writes, with their cause', async () => {
    using other = openDatabase(join(folder, 'cookies.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    const began = Date.now();
    const client = Client.of(service);
    const { status, headers } = await client.post(COOKIE, { 'x-request-id': 'waits' });
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    const ended = Date.now();
    for (let count = 0; count < 2; count++) expect((await client.post(COOKIE)).status).toBe(503);
    const lines = await logged('waits');
    expect(lines).toMatchObject([{ status: 503, method: 'POST', route: '/cookies' }]);
    expect(Date.parse(lines[0]!['time'] as string)).toBeGreaterThanOrEqual(began);
    expect(Date.parse(lines[0]!['time'] as string)).toBeLessThanOrEqual(ended + 100);
    expect(lines[0]!['milliseconds']).toBeGreaterThan(290);
    expect(lines[0]!['milliseconds']).toBeLessThan(20_000);
    const warning =
      /^Requests are rejected .*: Another process has locked .*\(first met by request waits, POST \/cookies\)$/;
    const warnings = service.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([{ msg: expect.stringMatching(warning) }]);
  });

  it('a request whose client has left, with "cut off", its status and its subject', async () => {
    const other = openDatabase(join(folder, 'cookies.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    const fields = `Host: cookies\r\nAuthorization: Bearer ${await token({ subject: 'dave' })}\r\nX-Request-Id: `;
    const body = 'Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"size":"large"}';
    const client = await StallingClient.send(
      service,
      `PATCH /cookies/1 HTTP/1.1\r\n${fields}left\r\n${body}GET /cookies/1 HTTP/1.1\r\n${fields}behind\r\n\r\n`,
    );
    await untilMetric(service, 'http_requests_in_flight', 1);
    client.reset();
    await logged('behind');
    other.close();
    expect(await logged('left')).toMatchObject([
      { msg: 'request cut off', status: expect.any(Number), subject: 'dave', method: 'PATCH' },
    ]);
    // The next request was not passed on, so no part of it was executed.
    const [behind] = await logged('behind');
    expect(behind).toMatchObject({ msg: 'request dropped', method: 'GET', milliseconds: 0 });
    expect(behind).not.toHaveProperty('status');
  });

  it('bytes that are no request, with their status', async () => {
    const before = service.lines.length;
    await exchange(service, Buffer.from('nonsense\r\n\r\n'));
    await until(() => service.lines.length > before, 'the line of it');
    expect(service.lines.slice(before)).toMatchObject([
      { msg: 'request', method: 'unknown', route: 'unknown', status: 400 },
    ]);
  });
});

let letPass: (() => void) | undefined;

/** A guard that does not respond until the test allows it. */
class WaitingGuard implements CanActivate {
  canActivate(): Promise<boolean> {
    return new Promise((resolve) => (letPass = () => resolve(true)));
  }
}

@Controller()
@Scopes('cookies:read')
class FailingController {
  @Get('failing/:id')
  fail(): never {
    throw new Error('the outer error', { cause: new TypeError('the inner cause') });
  }

  /** Errors of rxjs get their name and message after their stack. */
  @Get('late')
  failLate(): never {
    throw new TimeoutError();
  }

  @Get('half')
  failHalfWay(@Res() reply: FastifyReply): never {
    reply.raw.writeHead(200, { 'content-type': 'application/json' });
    reply.raw.write('[1');
    throw new Error('the rest cannot be made');
  }

  @Get('endless')
  neverEnd(): Promise<never> {
    return new Promise(() => undefined);
  }

  @Get('account')
  @UseGuards(AccountGuard)
  account(): void {}

  @Get('guarded')
  @UseGuards(WaitingGuard)
  read(): void {}

  @Post('guarded')
  @UseGuards(WaitingGuard)
  guarded(@Body() _body: CreateCookieDto): void {}
}

@Module({ controllers: [FailingController] })
class FailingModule {}

describe('the log of a handler that throws', () => {
  const { client } = sharedService({ LOG_LEVEL: 'silent' }, [FailingModule]);

  it('has an error with the pattern of the route, the request id, the stack and that of its cause; it is 500', async () => {
    const log = captureLog();
    const { status, text } = await client.get('/failing/7', { 'x-request-id': 'fails' });
    expect(status).toBe(500);
    expect(text).not.toMatch(/outer|inner/);
    const rest = [expect.any(String), 'Error'];
    expect(problemsIn(log)).toEqual([{ level: 'error', message: 'GET /failing/:id failed (request fails)', rest }]);
    const [stack] = problemsIn(log)[0]!.rest;
    expect(stack).toMatch(/^Error: the outer error\n +at .*FailingController/);
    expect(stack).toMatch(/\nCaused by: TypeError: the inner cause\n +at /);
  });

  it('has the message of an error that was set after its stack was taken', async () => {
    const log = captureLog();
    expect((await client.get('/late')).status).toBe(500);
    expect(problemsIn(log)[0]!.rest[0]).toMatch(/^TimeoutError: Timeout has occurred\n/);
  });

  it('has an error if the response breaks off after its beginning, so that no client takes it for complete', async () => {
    const log = captureLog();
    await expect(client.get('/half', { 'x-request-id': 'half' })).rejects.toThrow();
    expect(problemsIn(log)).toMatchObject([{ level: 'error', message: 'GET /half failed (request half)' }]);
  });
});

it('a request whose user a guard replaces is recorded with the subject of its token', async () => {
  await using guarded = await startService({ LOG_LEVEL: 'silent' }, [FailingModule]);
  const records: object[] = [];
  connectionsOf(guarded.app.getHttpServer()).requests.onEnd((record) => records.push(record));
  expect((await Client.of(guarded, { subject: 'erin' }).get('/account')).status).toBe(200);
  await until(() => records.length > 0, 'a record of the request');
  expect(records).toMatchObject([{ route: '/account', subject: 'erin' }]);
});

describe('a request whose client has left', () => {
  const { service: left } = sharedService({ LOG_LEVEL: 'silent' }, [FailingModule]);
  let connections: Connections;
  let records: object[];

  beforeAll(() => {
    connections = connectionsOf(left.app.getHttpServer());
    connections.requests.onEnd(({ route, status }, end) => records.push({ route, status, end }));
  });

  beforeEach(() => {
    records = [];
    letPass = undefined;
  });

  afterEach(() => jest.restoreAllMocks());

  /** Sends a request, and disconnects while it is in progress. */
  async function abandon(line: string, rest = '', isAtWork = () => connections.requests.inFlight === 1): Promise<void> {
    const fields = `Host: cookies\r\nAuthorization: Bearer ${await token()}\r\n`;
    const client = await StallingClient.send(left, `${line} HTTP/1.1\r\n${fields}${rest}\r\n`);
    await until(isAtWork, 'the request is in progress');
    client.reset();
    await until(() => connections.open === 0, 'the client has left');
  }

  async function untilRecorded(): Promise<void> {
    await until(() => records.length > 0, 'a record of the request');
    expect(connections.requests.inFlight).toBe(0);
  }

  it('and whose handler never ends is recorded as cut off, without a status, after a minute', async () => {
    await abandon('GET /endless');
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 55_000);
    await sleep(2100);
    expect(records).toEqual([]);
    clock.mockImplementation(() => now() + 61_000);
    await untilRecorded();
    expect(records).toEqual([{ route: '/endless', status: undefined, end: 'cut off' }]);
  });

  it('immediately after the header section is recorded immediately', async () => {
    const rest = 'Content-Type: application/json\r\nContent-Length: 60\r\n';
    for (let time = 0; time < 20; time++) {
      const fields = `Host: cookies\r\nAuthorization: Bearer ${await token({ subject: `${time}` })}\r\n`;
      const client = await StallingClient.send(left, `POST /cookies HTTP/1.1\r\n${fields}${rest}\r\n{`);
      await new Promise(setImmediate);
      client.reset();
    }
    await until(
      () => records.length === 20 && connections.requests.inFlight === 0,
      () => `${records.length} requests of 20 are recorded`,
    );
  });

  it('while a guard was running, before its body had arrived, is recorded with 400', async () => {
    await abandon(
      'POST /guarded',
      'Content-Type: application/json\r\nContent-Length: 2\r\n',
      () => letPass !== undefined,
    );
    letPass!();
    await untilRecorded();
    expect(records).toEqual([{ route: '/guarded', status: 400, end: 'cut off' }]);
  });

  it('while a guard was running, leaves no error in the log', async () => {
    const error = jest.spyOn(Logger.prototype, 'error');
    await abandon('HEAD /guarded', '', () => letPass !== undefined);
    letPass!();
    await untilRecorded();
    await new Promise(setImmediate);
    expect(records).toEqual([{ route: '/guarded', status: 200, end: 'cut off' }]);
    expect(error).not.toHaveBeenCalled();
  });
});
