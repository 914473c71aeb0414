import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost, ModuleRef } from '@nestjs/core';
import { serviceVersion } from '../../src/config/service-version.js';
import { migrate } from '../../src/database/schema/migrations.js';
import { Health } from '../../src/management/health.js';
import { ReportedResources } from '../../src/management/reported-resources.js';
import { openDataSource } from '../support/data-source.js';
import { createDatabase, describeEngines, describePostgres } from '../support/engine.js';
import { endSessions, onServer, PostgresServer } from '../support/postgres/postgres-server.js';
import { COOKIE, type Service, sharedService, startService } from '../support/service.js';
import { shared } from '../support/shared.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';
import { until } from '../support/until.js';

interface Probe {
  readonly status: number;
  readonly cacheControl: string | null;
  readonly retryAfter: string | null;
  readonly body: { status: string; checks?: Record<string, string> };
  readonly milliseconds: number;
}

async function probe({ managementUrl }: Service, name: 'live' | 'ready' = 'ready'): Promise<Probe> {
  const began = performance.now();
  const response = await fetch(`${managementUrl}/health/${name}`);
  const body = (await response.json()) as Probe['body'];
  const milliseconds = performance.now() - began;
  const [cacheControl, retryAfter] = ['cache-control', 'retry-after'].map((field) => response.headers.get(field));
  return { status: response.status, cacheControl: cacheControl!, retryAfter: retryAfter!, body, milliseconds };
}

const OK = { running: 'ok', database: 'ok', migrations: 'ok', storage: 'ok' };
const READY = { status: 200, cacheControl: 'no-store', retryAfter: null, body: { status: 'ready', checks: OK } };
const LIVE = { ...READY, body: { status: 'live', version: serviceVersion() } };

const notReady = (checks: object) => ({
  status: 503,
  cacheControl: 'no-store',
  retryAfter: '1',
  body: { status: 'not ready', checks: { ...OK, ...checks } },
});

describeEngines('GET /health/ready', (engine) => {
  it('is 200 with ok for each check, is not cached, and has the header fields of every response', async () => {
    const url = engine === 'postgres' && { DATABASE_URL: await createDatabase(`health_${process.pid}`) };
    await using service = await startService({ ...url });
    expect(await probe(service)).toMatchObject(READY);
    expect(await probe(service, 'live')).toMatchObject(LIVE);
    const { headers } = await fetch(`${service.managementUrl}/health/live`, { headers: { 'x-request-id': 'a1' } });
    expect([headers.get('x-request-id'), headers.get('x-content-type-options')]).toEqual(['a1', 'nosniff']);
  });
});

/** Asks for the readiness in the hook of a feature, which may take long. */
@Injectable()
class SlowStart implements OnApplicationBootstrap {
  readiness?: object;

  constructor(private readonly modules: ModuleRef) {}

  async onApplicationBootstrap(): Promise<void> {
    this.readiness = await this.modules.get(Health, { strict: false }).readiness();
  }
}

@Module({ providers: [SlowStart] })
class SlowModule {}

describe('readiness', () => {
  it('comes only with the API port, not while a module still starts', async () => {
    await using service = await startService({}, [SlowModule]);
    const checks = { ...OK, running: 'the service is starting' };
    expect(service.app.get(SlowStart, { strict: false }).readiness).toEqual({ ready: false, checks });
    expect(await probe(service)).toMatchObject(READY);
  });

  it('names the migrations while they are due, and says ok as soon as they have been run', async () => {
    await using dataSource = await openDataSource();
    const api = new HttpAdapterHost();
    api.listening = true;
    const health = new Health(new ReportedResources(), dataSource, api);
    const due = { migrations: expect.stringMatching(/^not run yet: .*CreateImports/), storage: 'not known' };
    await health.onApplicationBootstrap();
    expect(await health.readiness()).toEqual({ ready: false, checks: { ...OK, ...due } });
    await migrate(dataSource);
    expect(await health.readiness()).toEqual({ ready: true, checks: OK });
  });
});

describePostgres('GET /health/ready', () => {
  const server = shared(() => PostgresServer.create());

  // Longer than the time-out of the readiness check.
  const settings = { LOG_LEVEL: 'silent', DATABASE_BUSY_TIMEOUT: '8000', DATABASE_STATEMENT_TIMEOUT: '8000' };
  const { service, client } = sharedService(() => ({ DATABASE_URL: server.url(), ...settings }));

  beforeAll(() => client.post(COOKIE));

  afterEach(() => server.thaw());

  /** Waits until the service is ready, at most as long as a check of a silent server may take. */
  const untilReady = (): Promise<void> =>
    until(async () => (await probe(service)).status === 200, 'the service is ready', 15_000);

  it('is 503 after 2 s while PostgreSQL is silent, however many probes ask, and 200 when it responds again', async () => {
    expect(await probe(service)).toMatchObject(READY);
    server.freeze();
    const asked = Promise.all(Array.from({ length: 50 }, () => probe(service)));
    expect(await probe(service, 'live')).toMatchObject(LIVE);
    const probes = await asked;
    const silent = expect.stringMatching(/no response|did not respond/);
    for (const each of probes) {
      expect(each).toMatchObject(notReady({ database: silent, migrations: 'not known', storage: 'not known' }));
      expect(each.milliseconds).toBeGreaterThan(1900);
      expect(each.milliseconds).toBeLessThan(6000);
    }
    server.thaw();
    await untilReady();
  });

  it('is 200 when a block of the event loop takes longer than the time-out of the check', async () => {
    const readiness = service.app.get(Health, { strict: false }).readiness();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2100);
    expect(await readiness).toEqual({ ready: true, checks: OK });
  });

  it('is 503 once when the connections broke without notice, and then 200 on a new connection', async () => {
    await using proxy = await TcpProxy.start(server.url());
    await using behind = await startService({ DATABASE_URL: proxy.url, ...settings });
    expect(await probe(behind)).toMatchObject(READY);
    proxy.silenceConnections();
    expect((await probe(behind)).status).toBe(503);
    await sleep(500);
    expect(await probe(behind)).toMatchObject(READY);
  });

  /** Changes a default of new sessions, and ends the others. */
  async function alterDatabase(change: string, query = ''): Promise<void> {
    const sql = `ALTER DATABASE postgres ${change}`;
    await onServer(server.url('postgres', query), (client) => client.query(sql));
    await endSessions(server.url());
  }

  it('is 503 when new sessions no longer find the tables, and 200 afterwards', async () => {
    await alterDatabase('SET search_path = elsewhere');
    expect(await probe(service)).toMatchObject(notReady({ storage: expect.stringContaining('"storage"') }));
    await alterDatabase('RESET search_path');
    await untilReady();
  });

  it('is 503 when PostgreSQL is read-only, like a standby, and 200 afterwards', async () => {
    await alterDatabase('SET default_transaction_read_only = on');
    const { status, body } = await probe(service);
    expect(status).toBe(503);
    expect(body.checks).toMatchObject({
      running: 'ok',
      database: expect.stringContaining('or default_transaction_read_only is on'),
    });
    // A read-only session would also reject an ALTER.
    const writable = '?options=-c%20default_transaction_read_only%3Doff';
    await alterDatabase('SET default_transaction_read_only = off', writable);
    await untilReady();
  });

  it('is 503 with the reason while PostgreSQL cannot be reached', async () => {
    await server.stop('SIGQUIT');
    const { status, body, milliseconds } = await probe(service);
    expect(status).toBe(503);
    expect(body.checks).toMatchObject({ migrations: 'not known', storage: 'not known' });
    expect(body.checks!['database']).not.toBe('ok');
    expect(milliseconds).toBeLessThan(6000);
    await server.start();
    await untilReady();
  });
});

describe('the health check of the image', () => {
  const { service } = sharedService();
  const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const [program, ...args] = JSON.parse(/^HEALTHCHECK .*\n +CMD (.*)$/m.exec(dockerfile)![1]!) as string[];

  it('asks the service and no proxy, also where one is set for outgoing connections', async () => {
    // Node 20 does not know NODE_USE_ENV_PROXY.
    expect(args).toContain('no_proxy=*');
    const proxy = { HTTP_PROXY: 'http://127.0.0.1:1', NODE_USE_ENV_PROXY: '1' };
    const check = (port: string) =>
      promisify(execFile)(program!, args, { env: { ...process.env, ...proxy, MANAGEMENT_PORT: port } });
    await check(new URL(service.managementUrl).port);
    await expect(check('1')).rejects.toMatchObject({ code: 1 });
  });
});
