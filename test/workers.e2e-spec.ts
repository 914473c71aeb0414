import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './faults/fault.js';
import { engineInUse } from './support/engine.js';
import { contentsOf, expectKeptIn, Ledger, writeUntil } from './support/load/ledger.js';
import { metricsOf, untilMetric } from './support/metrics.js';
import { Client, COOKIE, temporaryFolder } from './support/service.js';
import { ServiceProcess } from './support/service-process.js';
import { inWorkersAbove, NAMED, sendAlone, untilLogged, untilServing, workersOf } from './support/workers/workers.js';

const CLIENTS = 12;
const LISTS = 'http_request_duration_seconds_count{method="GET",route="/cookies",status="200"}';

describe('a service with two workers', () => {
  let folder: string;
  let service: ServiceProcess;

  const start = async (environment = {}): Promise<void> => {
    service = await ServiceProcess.start(folder, { WORKERS: '2', COOKIES_CAPACITY: '1000000', ...environment });
  };

  /** Clients that connect again when they are told that their connection ends, as those of other services do. */
  const writeOn = (signal: AbortSignal, ledger: Ledger): Promise<unknown> =>
    Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (!signal.aborted) await writeUntil(signal, service, ledger, 1);
      }),
    );

  beforeEach(() => {
    folder = temporaryFolder();
  });

  afterEach(async () => {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('responds from both on one port, each sees what the other has stored, and it says once where it listens', async () => {
    await start(NAMED);
    const posts = await Promise.all(Array.from({ length: 10 }, () => sendAlone(service, { method: 'POST' })));
    expect(posts.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201));
    expect(new Set(posts.map(({ worker }) => worker))).toEqual(new Set(workersOf(service)));
    for (const id of Array.from({ length: 10 }, (_, index) => index + 1)) {
      const path = `/cookies/${id}`;
      const [one, other] = [await sendAlone(service, { path }), await sendAlone(service, { path })];
      expect([one.status, other.status]).toEqual([200, 200]);
      expect(one.worker).not.toBe(other.worker);
    }
    expect(service.output.match(/Cookies: /g)).toHaveLength(1);
    expect(service.output.match(/Ran the migrations/g)).toHaveLength(1);
  });

  it('lets 25 of 200 racing POSTs in and rejects the other 175 with 507', async () => {
    await start({ COOKIES_CAPACITY: '25' });
    const posts = await Promise.all(Array.from({ length: 200 }, () => sendAlone(service, { method: 'POST' })));
    expect(posts.filter(({ status }) => status === 201)).toHaveLength(25);
    expect(posts.filter(({ status }) => status === 507)).toHaveLength(175);
    expect(await contentsOf(folder)).toMatchObject({ count: 25, used: 25 });
  });

  it('adds its metrics up exactly, also those of workers that have been replaced, and ignores messages of modules', async () => {
    const messages = ['metrics', 1, null, { type: 'serving' }, { type: 'metrics', id: 0, value: [{}] }];
    await start(inWorkersAbove(0, `for (const message of ${JSON.stringify(messages)}) process.send(message);`));
    await (await Client.of(service)).post(COOKIE);
    for (let sent = 0; sent < 21; sent++) await sendAlone(service);
    await untilMetric(service, LISTS, 21);
    const before = await metricsOf(service);
    expect(before.get('storage_records{resource="cookies"}')).toBe(1);
    expect(before.get('storage_capacity_records{resource="cookies"}')).toBe(1_000_000);
    expect(before.get('http_response_buffer_limit_bytes')).toBe(67_108_864);
    expect(
      before.get('http_request_duration_seconds_bucket{le="+Inf",method="GET",route="/cookies",status="200"}'),
    ).toBe(21);
    expect(before.get('workers_serving')).toBe(2);

    service.child.kill('SIGHUP');
    for (let sent = 0; sent < 11; sent++) expect((await sendAlone(service)).status).toBe(200);
    await untilLogged(service, 'The workers are replaced');
    await untilMetric(service, LISTS, 32);
    const [crashed] = workersOf(service);
    process.kill(crashed!, 'SIGKILL');
    await untilServing(service, 2, crashed);
    const after = await metricsOf(service);
    expect(after.get(LISTS)).toBe(32);
    expect(after.get('worker_crashes_total')).toBe(1);
    expect(after.get('storage_records{resource="cookies"}')).toBe(1);
    expect(after.get('process_start_time_seconds')).toBe(before.get('process_start_time_seconds'));
  });

  it('loses no request and nothing acknowledged while its workers are replaced on SIGHUP', async () => {
    await start();
    const before = workersOf(service);
    const ledger = new Ledger();
    const stopping = new AbortController();
    const load = writeOn(AbortSignal.any([stopping.signal, AbortSignal.timeout(60_000)]), ledger);
    await until(
      () => ledger.acknowledged.size > 50,
      () => 'the load writes',
    );
    service.child.kill('SIGHUP');
    await untilLogged(service, 'The workers are replaced');
    const enough = ledger.answered(/./) + 50;
    await until(
      () => ledger.answered(/./) > enough,
      () => 'the load goes on',
    );
    stopping.abort();
    await load;
    expect(ledger.answered(/ (5\d\d|unknown)/)).toBe(0);
    expectKeptIn(await contentsOf(folder), ledger);
    const after = workersOf(service);
    expect(after).toHaveLength(2);
    expect(after.filter((worker) => before.includes(worker))).toEqual([]);
    expect(service.child.exitCode).toBe(null);
  });

  it('finishes every request that it has begun on SIGTERM under load, and exits with 0', async () => {
    await start();
    const ledger = new Ledger();
    const load = writeUntil(AbortSignal.timeout(60_000), service, ledger, CLIENTS);
    await until(
      () => ledger.acknowledged.size > 100,
      () => 'the load writes',
    );
    const code = service.end();
    expect(await load).toBe(CLIENTS);
    expect(await code).toBe(0);
    expect(ledger.answered(/ (5\d\d|unknown)/)).toBe(0);
    expectKeptIn(await contentsOf(folder), ledger);
    if (engineInUse() === 'sqlite') expect(existsSync(join(folder, 'cookies.sqlite'))).toBe(true);
    if (!service.child.stdout!.readableEnded) await once(service.child.stdout!, 'end');
    const lines = service.output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.at(-1)).toMatchObject({ msg: 'Stopped', context: 'Service' });
    expect(lines.filter(({ route }) => route !== undefined)).toHaveLength(ledger.answered(/./));
  });

  it('serves on when a worker is killed, stays ready, and has another one soon', async () => {
    await start(NAMED);
    const ledger = new Ledger();
    const stopping = new AbortController();
    const load = writeOn(AbortSignal.any([stopping.signal, AbortSignal.timeout(60_000)]), ledger);
    const [killed, other] = workersOf(service);
    await until(
      () => ledger.acknowledged.size > 50,
      () => 'the load writes',
    );
    process.kill(killed!, 'SIGKILL');
    await untilLogged(service, `(process ${killed}) has ended (SIGKILL); another one takes its place`);
    expect(await sendAlone(service)).toEqual({ status: 200, worker: other });
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    await untilServing(service, 2, killed);
    stopping.abort();
    await load;
    // Only connections of the one that was killed have broken, each once.
    expect(ledger.answered(/unknown/)).toBeLessThanOrEqual(CLIENTS);
    expectKeptIn(await contentsOf(folder), ledger);
    const served = await Promise.all(Array.from({ length: 6 }, () => sendAlone(service)));
    expect(new Set(served.map(({ worker }) => worker))).toEqual(new Set(workersOf(service)));
  });
});
