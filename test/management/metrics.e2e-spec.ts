import { rmSync, statSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge } from 'prom-client';
import { DataSource } from 'typeorm';
import { serviceVersion } from '../../src/config/service-version.js';
import { backupName } from '../../src/management/backup-files.js';
import { Metrics } from '../../src/management/metrics.js';
import { ReportedResources } from '../../src/management/reported-resources.js';
import { UsageCounter } from '../../src/resource/usage/usage-counter.js';
import { createDatabase, describeEngines, describePostgres, type EngineName } from '../support/engine.js';
import { expectError } from '../support/expect-error.js';
import { PostgresServer } from '../support/postgres/postgres-server.js';
import {
  Client,
  COOKIE,
  type Service,
  sharedService,
  startService,
  temporaryFolder,
  token,
} from '../support/service.js';
import { shared } from '../support/shared.js';
import { StallingClient } from '../support/faults/stalling-client.js';
import { growthDuring, metricsOf, untilMetric } from '../support/metrics.js';
import { until } from '../support/until.js';

const COUNT = 'http_request_duration_seconds_count';
const SUM = 'http_request_duration_seconds_sum';

/** A statement that keeps the engine busy for more than 100 ms. */
const SLOW: Readonly<Record<EngineName, string>> = {
  sqlite: 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT count(*) FROM n',
  postgres: 'SELECT pg_sleep(0.3)',
};

/** Locks the `storage` row, or the whole file, until `release` is called, which resolves after the unlock. */
async function holdWrites(service: Service): Promise<{ release: () => Promise<void> }> {
  const runner = service.app.get(DataSource).createQueryRunner();
  await runner.startTransaction();
  await runner.query('UPDATE storage SET used = used');
  const release = async (): Promise<void> => {
    await runner.commitTransaction();
    await runner.release();
  };
  return { release };
}

describeEngines('GET /metrics', (engine) => {
  const { service, client } = sharedService(async () => ({
    COOKIES_CAPACITY: '3',
    ...(engine === 'postgres' && { DATABASE_URL: await createDatabase(`metrics_${process.pid}`) }),
  }));

  beforeAll(() => client.post(COOKIE));

  it('counts each request under its method, the pattern of its route, and its status', async () => {
    const growth = await growthDuring(service, async () => {
      for (let count = 0; count < 3; count++) await client.post(COOKIE);
      for (const path of ['/cookies', '/cookies/1', '/cookies/2', '/cookies/987', '/cookies/x']) await client.get(path);
      for (let path = 0; path < 20; path++) await client.get(`/nothing-${path}`);
      await client.request('PATCH', '/cookies/1', { body: { size: 'large' } });
      await client.request('POST', '/cookies/1', { body: {} });
      await client.request('HEAD', '/cookies/1');
      await client.get('/cookies/1', { 'if-none-match': '*' });
      await Client.bearing(service).get('/cookies');
      await untilMetric(service, `${COUNT}{method="GET",route="/cookies",status="401"}`, 1);
    });
    const counts = [...growth].filter(([name]) => name.startsWith(COUNT));
    expect(Object.fromEntries(counts.map(([name, count]) => [name.slice(COUNT.length), count]))).toEqual({
      '{method="POST",route="/cookies",status="201"}': 2,
      '{method="POST",route="/cookies",status="507"}': 1,
      '{method="GET",route="/cookies",status="200"}': 1,
      '{method="GET",route="/cookies/:id",status="200"}': 2,
      '{method="GET",route="/cookies/:id",status="404"}': 1,
      '{method="GET",route="/cookies/:id",status="400"}': 1,
      '{method="GET",route="unknown",status="404"}': 20,
      '{method="PATCH",route="/cookies/:id",status="204"}': 1,
      '{method="POST",route="unknown",status="405"}': 1,
      '{method="HEAD",route="/cookies/:id",status="200"}': 1,
      '{method="GET",route="/cookies/:id",status="304"}': 1,
      '{method="GET",route="/cookies",status="401"}': 1,
    });
  });

  it('is the text format of Prometheus, and is not cached', async () => {
    // Prometheus asks for OpenMetrics, which only a service with tracing has.
    const headers = { accept: 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1' };
    const response = await fetch(`${service.managementUrl}/metrics`, { headers });
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.text()).not.toContain('# EOF');
  });

  it('has the version of the service, the number of stored records and the capacity', async () => {
    await client.request('DELETE', '/cookies/2');
    const stored = Number((await client.get('/cookies')).headers.get('x-total-count'));
    const metrics = await metricsOf(service);
    expect(stored).toBeLessThan(3);
    expect(metrics.get(`build_info{version="${serviceVersion()}"}`)).toBe(1);
    expect(metrics.get('storage_records{resource="cookies"}')).toBe(stored);
    expect(metrics.get('storage_capacity_records{resource="cookies"}')).toBe(3);
    expect(metrics.has('workers_serving')).toBe(false);
  });

  it('measures a request from its arrival to its response, in seconds, and has it in flight meanwhile', async () => {
    const series = 'method="PATCH",route="/cookies/:id",status="204"';
    const growth = await growthDuring(service, async () => {
      const { release } = await holdWrites(service);
      const response = client.request('PATCH', '/cookies/1', { body: { flavor: 'cinnamon' } });
      await untilMetric(service, 'http_requests_in_flight', 1);
      await sleep(250);
      await release();
      expect((await response).status).toBe(204);
      await untilMetric(service, 'http_requests_in_flight', 0);
    });
    expect(growth.get(`${SUM}{${series}}`)).toBeGreaterThan(0.2);
    expect(growth.get(`${SUM}{${series}}`)).toBeLessThan(30);
    expect(growth.get(`http_request_duration_seconds_bucket{le="0.1",${series}}`)).toBeUndefined();
    expect(growth.get(`http_request_duration_seconds_bucket{le="+Inf",${series}}`)).toBe(1);
  });

  it('measures statements that read as reads and statements that write as writes', async () => {
    const count = (kind: string): string => `database_statement_duration_seconds_count{kind="${kind}"}`;
    const reading = await growthDuring(service, async () => {
      for (let request = 0; request < 20; request++) await client.get('/cookies/1');
    });
    // The metrics and the poll for revoked tokens also read.
    expect(reading.get(count('read'))).toBeGreaterThanOrEqual(20);
    expect(reading.get(count('read'))).toBeLessThan(40);
    expect(reading.get(count('write'))).toBeUndefined();
    const writing = await growthDuring(service, () =>
      client.request('PATCH', '/cookies/1', { body: { size: 'medium' } }),
    );
    expect(writing.get(count('write'))).toBeGreaterThan(0);
  });

  it('measures how many writes share a transaction, and how long they wait', async () => {
    const names = ['size_sum', 'size_count', 'wait_seconds_sum'].map((name) => `database_batch_${name}{kind="write"}`);
    const growth = await growthDuring(service, async () => {
      const { release } = await holdWrites(service);
      const posts: Promise<unknown>[] = [];
      for (let count = 1; count <= 10; count++) {
        posts.push(client.post(COOKIE));
        await untilMetric(service, 'http_requests_in_flight', count);
      }
      await sleep(250);
      await release();
      await Promise.all(posts);
    });
    const [size, count, wait] = names.map((name) => growth.get(name));
    // Two transactions are waiting for the row, and the third takes all others.
    expect([size, count]).toEqual([10, 3]);
    expect(wait).toBeGreaterThan(0.2);
    expect(wait).toBeLessThan(60);
  });

  it('has the used connections of each pool, their limit, and the waiting callers', async () => {
    const pools = { sqlite: ['writer', 'lists'], postgres: ['requests', 'lists', 'checks'] }[engine];
    const pool = pools[0]!;
    const { release } = await holdWrites(service);
    const writing = service.app
      .get(DataSource)
      .transaction((manager) => manager.query('UPDATE storage SET used = used'));
    const held = { sqlite: { used: 1, waiting: 1 }, postgres: { used: 2, waiting: 0 } }[engine];
    for (const [name, value] of Object.entries(held)) {
      await until(
        async () => (await metricsOf(service)).get(`database_connections_${name}{pool="${pool}"}`)! >= value,
        () => `database_connections_${name} of ${pool} stays below ${value}`,
      );
    }
    await release();
    await writing;
    await untilMetric(service, `database_connections_used{pool="lists"}`, 0);
    const metrics = await metricsOf(service);
    for (const each of pools) {
      expect(metrics.get(`database_connections_limit{pool="${each}"}`)).toBeGreaterThan(0);
      // The queries of the scrape itself find a free connection.
      expect(metrics.get(`database_connections_waiting{pool="${each}"}`)).toBe(0);
    }
  });

  it('measures statements in seconds', async () => {
    let seconds = 0;
    const growth = await growthDuring(service, async () => {
      const began = performance.now();
      await service.app.get(DataSource).query(SLOW[engine]);
      seconds = (performance.now() - began) / 1000;
    });
    const measured = growth.get('database_statement_duration_seconds_sum{kind="read"}')!;
    expect(measured).toBeGreaterThan(0.05);
    // The unit is not milliseconds. On a busy machine, other statements of the service add some time.
    expect(measured).toBeLessThan(10 * seconds);
  });

  it('counts a request whose connection closes before it is passed on under the status "none"', async () => {
    const { release } = await holdWrites(service);
    const fields = `Host: cookies\r\nAuthorization: Bearer ${await token()}`;
    const body = 'Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"size":"large"}';
    const left = await StallingClient.send(
      service,
      `PATCH /cookies/1 HTTP/1.1\r\n${fields}\r\n${body}GET /cookies/1 HTTP/1.1\r\n${fields}\r\n\r\n`,
    );
    await untilMetric(service, 'http_requests_in_flight', 1);
    left.reset();
    await untilMetric(service, `${COUNT}{method="GET",route="unknown",status="none"}`, 1);
    await release();
    await untilMetric(service, 'http_requests_in_flight', 0);
  });
});

describe('GET /metrics', () => {
  it('has the free space for the SQLite file, in bytes, and the size of its write-ahead log', async () => {
    await using service = await startService();
    await Client.of(service).post(COOKIE);
    const metrics = await metricsOf(service);
    const { bavail, bsize } = await statfs(service.folder);
    const free = metrics.get('database_volume_free_bytes')!;
    expect(free / (bavail * bsize)).toBeCloseTo(1, 1);
    expect(metrics.get('database_wal_bytes')).toBe(statSync(join(service.folder, 'cookies.sqlite-wal')).size);
  });

  it('returns 200 with METRICS_TOKEN only, in a scheme of any case; health needs no token', async () => {
    const right = 'c29tZSByYW5kb20gYnl0ZXM=';
    await using service = await startService({ METRICS_TOKEN: right });
    const management = Client.bearing({ url: service.managementUrl });
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      expect((await management.get('/metrics', { authorization: `${scheme} ${right}` })).status).toBe(200);
    }
    for (const wrong of [undefined, '', right.slice(0, -1), `${right}=`, right.toLowerCase()]) {
      const response = await Client.bearing({ url: service.managementUrl }, wrong).get('/metrics');
      expectError(response, 401, 'UNAUTHENTICATED');
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="metrics"');
      expect(response.text).not.toContain(right);
    }
    for (const path of ['/health/live', '/health/ready']) expect((await management.get(path)).status).toBe(200);
  });

  it('is collected once for all requests that wait, each of which gets values from after its arrival', async () => {
    await using service = await startService();
    let collections = 0;
    const collect = async (): Promise<void> => {
      collections += 1;
      gauge.set(collections);
      await sleep(200);
    };
    const registers = [service.app.get(Metrics).registry];
    const gauge = new Gauge({ name: 'collections', help: 'test', collect, registers });
    const collectionOf = async (): Promise<number | undefined> => (await metricsOf(service)).get('collections');
    const first = collectionOf();
    await until(() => collections === 1, 'the first collection runs');
    const others = await Promise.all(Array.from({ length: 50 }, collectionOf));
    expect(await first).toBe(1);
    expect(Math.min(...others.map((collection) => collection!))).toBe(2);
    expect(collections).toBeLessThan(25);
    const before = collections;
    expect(await collectionOf()).toBe(before + 1);
  });

  it('has the time and the size of the last backup, and 0 if there is none', async () => {
    const folder = temporaryFolder();
    await using service = await startService({ BACKUP_DIR: folder });
    const last = async () => {
      const metrics = await metricsOf(service);
      return ['timestamp_seconds', 'bytes'].map((name) => metrics.get(`database_last_backup_${name}`));
    };
    expect(await last()).toEqual([0, 0]);
    const newest = Math.floor(Date.now() / 1000) - 60;
    const sizes = { [newest - 3600]: 1, [newest]: 2, [newest + 3600]: 3 };
    for (const [time, size] of Object.entries(sizes)) {
      writeFileSync(join(folder, backupName(Number(time) * 1000)), Buffer.alloc(size));
    }
    writeFileSync(join(folder, `${backupName(newest * 1000 + 2000)}.partial`), 'another file');
    expect(await last()).toEqual([newest, 2]);
    rmSync(folder, { recursive: true });
    expect(await last()).toEqual([0, 0]);
  });

  describePostgres('while PostgreSQL', () => {
    const server = shared(() => PostgresServer.create());

    // Longer than the time-out of a scraper.
    const timeouts = { DATABASE_BUSY_TIMEOUT: '20000', DATABASE_STATEMENT_TIMEOUT: '20000' };
    const { service, client } = sharedService(() => ({
      ...{ DATABASE_URL: server.url(), LOG_LEVEL: 'silent' },
      ...timeouts,
    }));

    beforeAll(() => client.post(COOKIE));

    afterEach(() => server.thaw());

    it('is frozen comes in time for a scraper, without the numbers of records of six resources', async () => {
      expect((await metricsOf(service)).get('storage_records{resource="cookies"}')).toBe(1);
      const resources = service.app.get(ReportedResources, { strict: false });
      for (let count = 1; count <= 5; count++) resources.add(new UsageCounter(`resource-${count}`, 1));
      server.freeze();
      const began = performance.now();
      const metrics = await metricsOf(service);
      // Prometheus's default time-out.
      expect(performance.now() - began).toBeLessThan(10_000);
      expect(metrics.get('storage_capacity_records{resource="cookies"}')).toBe(10_000);
      expect(metrics.has('storage_records{resource="cookies"}')).toBe(false);
    });

    it('is away has all other figures', async () => {
      await server.stop('SIGQUIT');
      const metrics = await metricsOf(service);
      expect(metrics.get('storage_capacity_records{resource="cookies"}')).toBe(10_000);
      expect(metrics.has('storage_records{resource="cookies"}')).toBe(false);
      // The errors of one scrape are in the next.
      expect((await metricsOf(service)).get('database_errors_total{kind="unreachable"}')).toBeGreaterThan(0);
      await server.start();
      await untilMetric(service, 'storage_records{resource="cookies"}', 1);
    });
  });
});
