import { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import { Controller, Get, Module } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { DataSource } from 'typeorm';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { LiveConfig } from '../../src/database/polling/live-config.js';
import { RateClass, RateLimitGuard } from '../../src/rate-limit/rate-limit.guard.js';
import { RequestCounts } from '../../src/rate-limit/request-counts.js';
import { until } from '../support/until.js';
import { expectError } from '../support/expect-error.js';
import { OpenApiDocument } from '../support/openapi-document.js';
import { type Answer, Client, COOKIE, type Service, startService, token } from '../support/service.js';

const FIELDS = ['ratelimit', 'ratelimit-policy', 'retry-after'] as const;
const fieldsOf = ({ headers }: Answer) => FIELDS.map((name) => headers.get(name));

async function statusesOf(count: number, send: () => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < count) statuses.push((await send()).status);
  return statuses;
}

/** Functions that let the running handlers of `GET /clock/next` end. */
const releases: (() => void)[] = [];

@Controller('clock')
class ClockController {
  @Get()
  @Public()
  now(): void {}

  @Get('history')
  @Scopes('clock:read')
  @RateClass('list')
  history(): void {}

  @Get('next')
  @Scopes('clock:read')
  next(): Promise<string> {
    return new Promise((resolve) => releases.push(() => resolve('next')));
  }
}

@Module({ controllers: [ClockController] })
class ClockModule {}

const services: Service[] = [];

async function start(environment: Record<string, string>): Promise<Service> {
  const service = await startService(environment, [ClockModule]);
  services.push(service);
  return service;
}

afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});

describe('a subject with RATE_LIMIT_SUBJECT_READ=2', () => {
  const HALF_A_MINUTE = { RATE_LIMIT_SUBJECT_READ: '2', RATE_LIMIT_WINDOW: '30' };

  it('gets 429 with Retry-After and RateLimit fields for the third read after 250 ms, as the document says; lists, writes and others go on', async () => {
    const service = await start(HALF_A_MINUTE);
    const document = await OpenApiDocument.of(service);
    const client = Client.of(service, { subject: 'greedy' });
    const responses = [await client.get('/cookies/1'), await client.request('HEAD', '/cookies/1')];
    expect(responses.map(({ status }) => status)).toEqual([404, 404]);
    expect(responses.map(({ headers }) => headers.get('ratelimit'))).toEqual([
      '"subject-read";r=1;t=30',
      expect.stringMatching(/^"subject-read";r=0;t=([12]\d|30)$/),
    ]);
    const before = performance.now();
    const rejected = await client.get('/cookies/1');
    // Immediate repetitions would use up the CPU.
    expect(performance.now() - before).toBeGreaterThanOrEqual(249);
    expectError(rejected, 429, 'RATE_LIMITED');
    const described = document.operation('GET', '/cookies/{id}').responses;
    for (const response of [responses[0]!, rejected]) {
      document.expectDescribed(response, described[response.status]);
    }
    const [limit, policy, after] = fieldsOf(rejected);
    expect(policy).toBe('"subject-read";q=2;w=30');
    expect(after).toMatch(/^([12]\d|30)$/);
    expect(limit).toBe(`"subject-read";r=0;t=${after}`);
    const unlimited = await client.get('/cookies');
    expect(unlimited.status).toBe(200);
    expect(fieldsOf(unlimited)).toEqual([null, null, null]);
    expect((await client.post(COOKIE)).status).toBe(201);
    expect((await Client.of(service, { subject: 'modest' }).get('/cookies/1')).status).toBe(200);
  });

  it('gets 403 and not 429 without the scope, and 429 before 400 for a malformed id', async () => {
    const service = await start(HALF_A_MINUTE);
    const client = Client.of(service);
    const writer = Client.of(service, { scope: 'cookies:write' });
    for (const id of ['1', 'abc']) await client.get(`/cookies/${id}`);
    expectError(await client.get('/cookies/abc'), 429, 'RATE_LIMITED');
    expectError(await client.get('/cookies/1?x=1'), 429, 'RATE_LIMITED');
    expectError(await writer.get('/cookies/abc'), 403, 'INSUFFICIENT_SCOPE');
  });

  it('may read again when Retry-After has passed', async () => {
    const client = Client.of(await start({ RATE_LIMIT_SUBJECT_READ: '1', RATE_LIMIT_WINDOW: '1' }));
    let rejected = await client.get('/cookies/1');
    while (rejected.status !== 429) rejected = await client.get('/cookies/1');
    expect(rejected.headers.get('retry-after')).toBe('1');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await client.get('/cookies/1')).status).toBe(404);
  });
});

it('the class of a route is list for the list of a resource and a route with @RateClass, and write for POST', async () => {
  const service = await start({ RATE_LIMIT_SUBJECT_LIST: '7', RATE_LIMIT_SUBJECT_WRITE: '5' });
  const client = Client.of(service, { scope: 'cookies:read cookies:write clock:read' });
  const policies = [await client.get('/cookies'), await client.get('/clock/history'), await client.post(COOKIE)];
  expect(policies.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual([
    '"subject-list";q=7;w=60',
    '"subject-list";q=7;w=60',
    '"subject-write";q=5;w=60',
  ]);
  expect((await client.get('/clock/history')).headers.get('ratelimit')).toMatch(/^"subject-list";r=4;/);
});

describe('an address with RATE_LIMIT_ADDRESS_READ=2 behind a proxy', () => {
  const LIMITED = { RATE_LIMIT_ADDRESS_READ: '2', TRUST_PROXY: 'loopback' };
  const from = (address: string) => ({ 'x-forwarded-for': address });

  it('is limited with all its subjects and its whole IPv6 /64 network; others are not', async () => {
    const service = await start(LIMITED);
    const [alice, bob] = [Client.of(service), Client.of(service, { subject: 'bob' })];
    expect((await alice.get('/cookies/1', from('2001:db8::1'))).status).toBe(404);
    expect((await bob.get('/cookies/1', from('2001:db8::2'))).status).toBe(404);
    const rejected = await alice.get('/cookies/1', from('2001:db8::3'));
    expectError(rejected, 429, 'RATE_LIMITED');
    expect(rejected.headers.get('ratelimit-policy')).toBe('"address-read";q=2;w=60');
    expect((await alice.get('/cookies/1', from('2001:db8:0:1::1'))).status).toBe(404);
    expect((await alice.get('/cookies/1', from('192.0.2.1'))).status).toBe(404);
    // Some proxies forward the port, too.
    expect((await alice.get('/cookies/1', from('192.0.2.1:5000'))).status).toBe(404);
    expectError(await alice.get('/cookies/1', from('192.0.2.1:5001')), 429, 'RATE_LIMITED');
    expectError(await alice.get('/cookies/1', from('[2001:db8::4]:5002')), 429, 'RATE_LIMITED');
    expectError(await alice.get('/cookies/1', from('192.0.2.1, 127.0.0.1:5003')), 429, 'RATE_LIMITED');
  });

  it('does not count requests with an invalid token, which stay 401', async () => {
    const service = await start(LIMITED);
    const stranger = Client.bearing(service, 'a.b.c');
    for (let request = 0; request < 5; request++) {
      expectError(await stranger.get('/cookies/1', from('192.0.2.1')), 401, 'INVALID_TOKEN');
    }
    expect((await Client.of(service).get('/cookies/1', from('192.0.2.1'))).status).toBe(404);
  });

  it('is limited on public routes', async () => {
    const stranger = Client.bearing(await start(LIMITED));
    const statuses = await statusesOf(3, () => stranger.get('/clock'));
    expect(statuses).toEqual([200, 200, 429]);
  });

  it("keeps its limit when a subject exceeds the subject's limit", async () => {
    const service = await start({ ...LIMITED, RATE_LIMIT_SUBJECT_READ: '1' });
    const [greedy, modest] = [Client.of(service), Client.of(service, { subject: 'modest' })];
    const statuses = await statusesOf(4, () => greedy.get('/cookies/1'));
    expect(statuses).toEqual([404, 429, 429, 429]);
    const response = await modest.get('/cookies/1');
    expect(response.status).toBe(404);
    expect(response.headers.get('ratelimit')).toMatch(/^"subject-read";r=0;t=60, "address-read";r=0;t=\d+$/);
  });
});

it('a subject with RATE_LIMIT_IN_PROGRESS=2 gets 429 for a third request until one of its responses is sent or its connection closes', async () => {
  const service = await start({ RATE_LIMIT_IN_PROGRESS: '2' });
  const scope = 'clock:read cookies:read';
  const client = Client.of(service, { scope });
  const leaves = connect(Number(new URL(service.url).port), '127.0.0.1');
  leaves.write(
    `GET /clock/next HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${await token({ scope })}\r\n\r\n`,
  );
  const stays = client.get('/clock/next');
  await until(() => releases.length === 2, 'both requests are in progress');
  const before = performance.now();
  const rejected = await client.get('/cookies');
  expect(performance.now() - before).toBeGreaterThanOrEqual(249);
  expectError(rejected, 429, 'RATE_LIMITED');
  expect(rejected.headers.get('retry-after')).toBe('1');
  expect((await Client.of(service, { subject: 'bob' }).get('/cookies')).status).toBe(200);
  leaves.resetAndDestroy();
  // The service notices the closed connection a moment later.
  await until(async () => (await client.get('/cookies')).status === 200, 'a place is free');
  for (const release of releases.splice(0)) release();
  expect((await stays).text).toBe('next');
  const afterwards = [client.get('/cookies'), client.get('/cookies')];
  expect((await Promise.all(afterwards)).map(({ status }) => status)).toEqual([200, 200]);
});

it('a request whose client has left before it is counted takes no place in RATE_LIMIT_IN_PROGRESS', async () => {
  const { app } = await start({ RATE_LIMIT_IN_PROGRESS: '1' });
  const live = app.get(LiveConfig, { strict: false });
  const guard = new RateLimitGuard(live, app.get(DataSource), new Reflector());
  const isAccepted = async (closed: boolean): Promise<boolean> => {
    const request = { method: 'GET', user: { subject: 'alice' } };
    const reply = { request, raw: Object.assign(new EventEmitter(), { closed }) };
    return guard.canActivate(new ExecutionContextHost([request, reply], ClockController, statusesOf));
  };
  expect([await isAccepted(true), await isAccepted(false)]).toEqual([true, true]);
});

it('a flood of subjects is kept in bounded memory, and the subject that is active keeps its count', async () => {
  const counts = new RequestCounts();
  const remaining = async (subject: string) => (await counts.add('subject-read', subject, 1000, 3600)).remaining;
  for (let subject = 0; subject < 150_000; subject++) {
    await remaining(`subject ${subject}`);
    if (subject % 1000 === 0) await remaining('active');
  }
  expect(await remaining('subject 0')).toBe(999);
  expect(await remaining('active')).toBe(1000 - 151);
});
