import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilWritten } from '../faults/fault.js';
import { preloaded } from '../support/faults/preloaded.js';
import { countsOf } from '../support/command.js';
import { Ledger, storedIn } from '../support/load/ledger.js';
import { Load } from '../support/load/load.js';
import { sendRejectedRequests } from '../support/load/rejected-requests.js';
import { metricsOf, untilMetric } from '../support/metrics.js';
import { temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { shared } from '../support/shared.js';
import { until } from '../support/until.js';
import {
  inWorkers,
  inWorkersAbove,
  NAMES_ITSELF,
  sendAlone,
  untilServing,
  workersOf,
} from '../support/workers/workers.js';

const CLIENTS = 12;
const LISTS = 'http_request_duration_seconds_count{method="GET",route="/cookies",status="200"}';

const untilGone = (workers: readonly number[]): Promise<void> =>
  until(() => !workers.some((pid) => existsSync(`/proc/${pid}`)), `the end of ${workers.join(' and ')}`);

describe('a worker that cannot start', () => {
  it('ends the service with its message, once, and its exit code', async () => {
    const fails = inWorkersAbove(0, `console.error('no'); process.exit(7);`);
    await using service = ServiceProcess.spawn(temporaryFolder(), { WORKERS: '2', ...fails });
    expect(await service.exit()).toBe(7);
    expect(service.output).toBe('no\n');
  });

  it('ends the service with a line if it is killed, as when memory runs out', async () => {
    const killed = inWorkersAbove(0, `process.kill(process.pid, 'SIGKILL');`);
    await using service = ServiceProcess.spawn(temporaryFolder(), { WORKERS: '2', ...killed });
    expect(await service.exit()).toBe(1);
    expect(service.output).toMatch(
      /Worker 1 \(process \d+\) was killed before it served; if memory ran out, raise its/,
    );
  });

  it('leaves the others serving on SIGHUP, and is tried again with a pause when another one has crashed, also when the readers of stdout and stderr have gone', async () => {
    const fails = inWorkers(`console.log('no'); console.error('cannot start ' + Date.now()); process.exit(3);`, 2);
    await using service = await ServiceProcess.start(temporaryFolder(), { WORKERS: '2', ...preloaded(fails) });
    const before = workersOf(service);
    service.child.kill('SIGHUP');
    await service.printed('A new worker could not start; the remaining old workers continue to serve');
    expect(workersOf(service)).toEqual(before);
    expect((await sendAlone(service)).status).toBe(200);

    const attempts = (): number[] =>
      [...service.output.matchAll(/cannot start (\d+)/g)].map(([, time]) => Number(time));
    expect(attempts()).toHaveLength(1);
    process.kill(before[0]!, 'SIGKILL');
    await until(() => attempts().length === 4, 'three attempts to replace the worker');
    expect((await sendAlone(service)).status).toBe(200);
    const [, first, second, third] = attempts();
    for (const pause of [second! - first!, third! - second!]) expect(pause).toBeGreaterThanOrEqual(1000);
    expect(service.output.match(/has ended \(exit code 3\)/g)!.length).toBeGreaterThanOrEqual(3);

    service.child.stdout!.destroy();
    service.child.stderr!.destroy();
    const crashes = async () => (await metricsOf(service)).get('worker_crashes_total')!;
    const crashesBefore = await crashes();
    service.child.kill('SIGHUP');
    await until(async () => (await crashes()) > crashesBefore, 'another worker that cannot start');
    expect(workersOf(service)).toContain(before[1]);
    expect((await sendAlone(service)).status).toBe(200);
    expect(await service.end()).toBe(0);
  });
});

/** Each test continues with the service of the previous one. */
describe('a SIGHUP', () => {
  const settings = { WORKERS: '2', SHUTDOWN_TIMEOUT: '0' };
  const service = shared(() => ServiceProcess.start(temporaryFolder(), settings));

  const count = (text: string): number => service.output.split(text).length - 1;

  /** Sends SIGHUP, and waits until the workers are replaced. @param act after the service has begun */
  async function replace(act = (): void => {}): Promise<void> {
    const [begun, done] = ['Replacing the workers', 'The workers are replaced'].map(count) as [number, number];
    service.child.kill('SIGHUP');
    await until(() => count('Replacing the workers') > begun, 'the beginning of the replacement');
    act();
    await until(() => count('The workers are replaced') > done, 'the end of the replacement', 60_000);
  }

  it('replaces a worker that crashes meanwhile once', async () => {
    const old = workersOf(service);
    await replace(() => process.kill(old[1]!, 'SIGKILL'));
    const workers = workersOf(service);
    expect([workers.length, workers.filter((id) => old.includes(id))]).toEqual([2, []]);
  });

  it('replaces a worker that is starting, because it may have read an old secret', async () => {
    const [first, second] = workersOf(service);
    process.kill(second!, 'SIGKILL');
    let starting: number[] = [];
    await until(() => {
      starting = workersOf(service).filter((id) => id !== first && id !== second);
      return starting.length > 0;
    }, 'the start of another worker');
    await replace();
    expect(workersOf(service)).not.toContain(starting[0]);
    await untilServing(service, 2);
  });

  it('replaces all workers, a blocked one after SHUTDOWN_TIMEOUT; a second signal leaves no blocked one behind', async () => {
    const old = workersOf(service);
    process.kill(old[0]!, 'SIGSTOP');
    await replace();
    const workers = workersOf(service);
    expect(workers.filter((id) => old.includes(id))).toEqual([]);
    process.kill(workers[0]!, 'SIGSTOP');
    service.child.kill('SIGTERM');
    await service.printed('Stopping (SIGTERM)');
    expect(await service.end()).toBe(1);
    await untilGone(workers);
  });
});

/** Sends foreign messages to the primary, as another module may. */
const MODULE = `
  for (const message of ['metrics', 1, null, { type: 'serving' }, { type: 'metrics', id: 0, value: [{}] }]) process.send(message);`;

/**
 * Gives the service a copy of Node that can be moved away, and a real pipe as standard output: Node gives children
 * sockets, whose longer writes are atomic.
 */
const ON_A_COPY_WITH_A_PIPE = [
  'bash',
  '-c',
  'cp "$0" node; exec 3> >(setsid -f cat); wait $!; exec ./node "$@" >&3 3>&-',
];

/** Each test continues with the service of the previous one. */
describe('a service with two workers', () => {
  const place = temporaryFolder();
  const environment = { WORKERS: '2', SHUTDOWN_TIMEOUT: '60000', ...preloaded(NAMES_ITSELF + inWorkers(MODULE)) };
  const service = shared(() => ServiceProcess.start(place, environment, { through: ON_A_COPY_WITH_A_PIPE }));

  const health = (probe: 'live' | 'ready') => fetch(`${service.managementUrl}/health/${probe}`);

  /** Waits until a probe succeeds; on a loaded machine a worker may once reply too late. */
  const untilHealthy = (probe: 'live' | 'ready'): Promise<void> =>
    until(async () => (await health(probe)).status === 200, `GET /health/${probe} returns 200`);

  it('responds from both on one port, each sees what the other has stored, and logs its addresses once', async () => {
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
    expect(service.output).not.toContain('Mapped {');
  });

  it('logs exactly one whole line for each of 3 000 requests, and its metrics count them, when its reader stalls for a time', async () => {
    const count = 3000;
    service.child.stdout!.pause();
    await sendRejectedRequests(service, count, { connections: 20 });
    await untilMetric(service, LISTS.replace('200', '401'), count);
    // Now both workers write to a full pipe.
    service.child.stdout!.resume();
    await until(() => service.output.split('"status":401').length > count, `${count} lines`);
    const ids = service.lines.filter(({ status }) => status === 401).map(({ requestId }) => requestId);
    expect(ids).toHaveLength(count);
    expect(new Set(ids).size).toBe(count);
  });

  it('adds its metrics up exactly, also those of workers that have been replaced, and ignores messages of modules', async () => {
    await untilMetric(service, 'storage_records{resource="cookies"}', countsOf(place).count);
    await untilMetric(service, 'storage_capacity_records{resource="cookies"}', 10_000);
    await untilMetric(service, 'http_response_buffer_limit_bytes', 67_108_864);
    await untilMetric(service, 'workers_serving', 2);
    const before = await metricsOf(service);
    const lists = before.get(LISTS) ?? 0;
    for (let sent = 0; sent < 21; sent++) await sendAlone(service);
    await sleep(500);
    expect((await metricsOf(service)).get(LISTS)).toBe(lists + 21);
    await untilMetric(service, LISTS.replace('_count{', '_bucket{le="+Inf",'), lists + 21);
    service.child.kill('SIGHUP');
    for (let sent = 0; sent < 11; sent++) expect((await sendAlone(service)).status).toBe(200);
    await service.printed('The workers are replaced');
    await untilMetric(service, LISTS, lists + 32);
    expect((await metricsOf(service)).get('process_start_time_seconds')).toBe(before.get('process_start_time_seconds'));
  });

  it('stays ready when a worker is killed, and replaces it', async () => {
    const ledger = new Ledger();
    const before = await metricsOf(service);
    const load = new Load([service], ledger, CLIENTS);
    const [killed, other] = workersOf(service);
    await untilWritten(ledger, 50);
    process.kill(killed!, 'SIGKILL');
    await service.printed(`(process ${killed}) has ended (SIGKILL)`);
    expect(await sendAlone(service)).toEqual({ status: 200, worker: other });
    await untilHealthy('ready');
    await untilServing(service, 2, killed);
    await load.end();
    const after = await metricsOf(service);
    expect(after.get('worker_crashes_total')! - before.get('worker_crashes_total')!).toBe(1);
    expect(after.get(LISTS)).toBeGreaterThan(before.get(LISTS) ?? 0);
    // Only connections of the killed worker have broken, each once.
    expect(ledger.answered(/unknown/)).toBeLessThanOrEqual(CLIENTS);
    expect(ledger.lostIn(storedIn(place))).toEqual([]);
    const served = await Promise.all(Array.from({ length: 6 }, () => sendAlone(service)));
    expect(new Set(served.map(({ worker }) => worker))).toEqual(new Set(workersOf(service)));
  });

  it('is neither live nor ready while one of them does not respond', async () => {
    const [frozen] = workersOf(service);
    process.kill(frozen!, 'SIGSTOP');
    try {
      const live = await Promise.all(Array.from({ length: 12 }, () => health('live')));
      expect(new Set(live.map(({ status }) => status))).toEqual(new Set([503]));
      expect(service.output).not.toContain('MaxListenersExceededWarning');
      const ready = await health('ready');
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({
        checks: { running: expect.stringMatching(/^Worker .* does not respond$/) },
      });
      expect((await metricsOf(service)).get('storage_records{resource="cookies"}')).toEqual(expect.any(Number));
    } finally {
      process.kill(frozen!, 'SIGCONT');
    }
    await untilHealthy('live');
    await untilHealthy('ready');
  });

  it('logs that the process of a worker cannot be made, and tries again', async () => {
    const [program, away] = [join(place, 'node'), join(place, 'away')];
    renameSync(program, away);
    process.kill(workersOf(service)[0]!, 'SIGKILL');
    await service.printed('ENOENT');
    renameSync(away, program);
    await untilServing(service, 2);
  });

  it('replaces a killed worker and ends without delay while the reader of its log stalls', async () => {
    service.child.stdout!.pause();
    // Several times the size of the pipe's buffer.
    await sendRejectedRequests(service, 1000);
    const [killed] = workersOf(service);
    process.kill(killed!, 'SIGKILL');
    await untilServing(service, 2, killed);
    await sendRejectedRequests(service, 1000);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    // Less than SHUTDOWN_TIMEOUT.
    expect(performance.now() - began).toBeLessThan(40_000);
  });
});

describe('a service with two workers, MANAGEMENT_HOST and METRICS_TOKEN_FILE', () => {
  const TOKEN = 'c29tZSByYW5kb20gYnl0ZXM=';
  const folder = temporaryFolder();
  const file = join(folder, 'metrics-token');
  writeFileSync(file, `${TOKEN}\n`);
  const environment = { WORKERS: '2', MANAGEMENT_HOST: '127.0.0.2', METRICS_TOKEN_FILE: file };
  const service = shared(() => Promise.resolve(ServiceProcess.spawn(folder, environment)));

  it('replaces all of them after a SIGHUP that comes while they start', async () => {
    await until(() => workersOf(service).length > 0, 'the first worker');
    const [first] = workersOf(service);
    service.child.kill('SIGHUP');
    await service.printed('The workers are replaced');
    await until(() => !workersOf(service).includes(first!) && workersOf(service).length === 2, 'two other workers');
  });

  it('serves health and metrics at that address only, and metrics with the token only', async () => {
    const { hostname, port } = new URL(service.managementUrl);
    expect(hostname).toBe('127.0.0.2');
    expect(new URL(service.url).hostname).toBe('127.0.0.1');
    const metrics = (headers: Record<string, string>) => fetch(`${service.managementUrl}/metrics`, { headers });
    expect((await metrics({})).status).toBe(401);
    expect((await metrics({ authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/health/ready`)).rejects.toThrow('fetch failed');
  });

  it('leaves no worker behind when it is killed', async () => {
    const workers = workersOf(service);
    expect(workers).toHaveLength(2);
    await service.end('SIGKILL');
    await untilGone(workers);
  });
});

describe('a service with two workers that stops', () => {
  it('is not ready meanwhile, handles a signal of a terminal once, and exits with 1 on a second signal', async () => {
    await using service = await ServiceProcess.start(temporaryFolder(), { WORKERS: '2', SHUTDOWN_DELAY: '60000' });
    const workers = workersOf(service);
    // A terminal sends the signal to all processes.
    for (const worker of workers) process.kill(worker, 'SIGINT');
    service.child.kill('SIGINT');
    await service.printed('Stopping (SIGINT)');
    const ready = await fetch(`${service.managementUrl}/health/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ checks: { running: 'the service is shutting down' } });
    expect((await sendAlone(service)).status).toBe(200);
    expect(service.output).not.toContain('"level":"error"');
    expect(await service.end()).toBe(1);
    await untilGone(workers);
  });

  const STARTS = 'await new Promise((resolve) => setTimeout(resolve, 60_000));';

  it('exits with 0, and logs no error, after a SIGINT of a terminal that comes while the second one starts', async () => {
    await using service = ServiceProcess.spawn(temporaryFolder(), { WORKERS: '2', ...inWorkersAbove(1, STARTS) });
    await until(() => workersOf(service).length === 2, 'the second worker');
    for (const worker of workersOf(service)) process.kill(worker, 'SIGINT');
    // The end of the worker that starts may be known before the signal of the primary.
    await until(() => workersOf(service).length === 1, 'the end of the worker that starts');
    expect(await service.end('SIGINT')).toBe(0);
    expect(service.output).not.toContain('"level":"error"');
  });

  it('exits with 0, and logs no error, after a SIGTERM that comes while a replacement starts', async () => {
    await using service = await ServiceProcess.start(temporaryFolder(), { WORKERS: '2', ...inWorkersAbove(2, STARTS) });
    service.child.kill('SIGHUP');
    await until(() => workersOf(service).length === 3, 'the replacement');
    expect(await service.end()).toBe(0);
    expect(service.output).not.toContain('"level":"error"');
  });
});
