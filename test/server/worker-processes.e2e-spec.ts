import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/config/config.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { until } from '../faults/fault.js';
import { countsOf } from '../support/command.js';
import { preloaded } from '../support/faults/preloaded.js';
import { Ledger, storedIn } from '../support/load/ledger.js';
import { metricsOf, untilMetric } from '../support/metrics.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import {
  inWorkers,
  inWorkersAbove,
  NAMES_ITSELF,
  sendAlone,
  startWriters,
  untilLogged,
  untilServing,
  workersOf,
} from '../support/workers/workers.js';

const CLIENTS = 12;
const LISTS = 'http_request_duration_seconds_count{method="GET",route="/cookies",status="200"}';

let folder: string;
let service: ServiceProcess;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  await service?.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe('WORKERS', () => {
  it.each(['0', '-1', '1.5', '65', 'all', 'AUTO', ' 2'])('rejects %j with what would be right', (value) => {
    expect(() => loadConfig({ WORKERS: value })).toThrow(
      'WORKERS must be a whole number from 1 to 64, or "auto". Example: WORKERS=auto',
    );
  });

  it('is 1 by default, and takes a number or "auto" for all cores', () => {
    expect(loadConfig({}).workers).toBe(1);
    expect(loadConfig({ WORKERS: '64' }).workers).toBe(64);
    expect(loadConfig({ WORKERS: 'auto' }).workers).toBe(Math.min(availableParallelism(), 64));
  });
});

describe('the log of two workers', () => {
  it('has exactly one whole line for each of 6 000 requests, and the metrics count them, while its reader is slow', async () => {
    // A real pipe: node gives its children sockets, whose writes are of one piece up to a larger size.
    const through = ['bash', '-c', 'exec "$0" "$@" > >(exec cat)'];
    service = await ServiceProcess.start(folder, { WORKERS: '2' }, { through });
    const [count, connections] = [6000, 20];
    let torn = 0;
    const seen = new Map<string, number>();
    service.readLines((line) => {
      try {
        const { requestId, route } = JSON.parse(line) as { requestId: string; route?: string };
        if (route === '/cookies') seen.set(requestId, (seen.get(requestId) ?? 0) + 1);
      } catch {
        torn += 1;
      }
    });
    const slow = setInterval(() => {
      service.child.stdout!.pause();
      setTimeout(() => service.child.stdout!.resume(), 20);
    }, 100);
    const each = count / connections;
    await Promise.all(Array.from({ length: connections }, (_, index) => rejected(service.url, index, each)));
    const series = 'http_request_duration_seconds_count{method="GET",route="/cookies",status="401"}';
    await untilMetric(service, series, count);
    clearInterval(slow);
    expect(await service.end()).toBe(0);
    if (!service.child.stdout!.readableEnded) await once(service.child.stdout!.resume(), 'end');
    expect(torn).toBe(0);
    expect(seen.size).toBe(count);
    expect([...seen.values()].filter((lines) => lines !== 1)).toEqual([]);
  });

  it('does not delay the replacement of a killed worker, or the end of the service, while its reader stalls', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2', SHUTDOWN_TIMEOUT: '60000' });
    service.child.stdout!.pause();
    // Some times as much as the pipe holds.
    const reject = () => Promise.all([1, 2, 3, 4].map((index) => rejected(service.url, index, 750)));
    await reject();
    const [killed] = workersOf(service);
    process.kill(killed!, 'SIGKILL');
    await untilServing(service, 2, killed);
    await reject();
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(40_000);
  });
});

describe('a worker that cannot start', () => {
  it.each(['PORT', 'MANAGEMENT_PORT'])(
    'ends the service with 1 and names the address when %s is in use',
    async (name) => {
      const occupant = createServer().listen(0, '127.0.0.1');
      await once(occupant, 'listening');
      try {
        const { port } = occupant.address() as AddressInfo;
        service = ServiceProcess.spawn(folder, { WORKERS: '2', [name]: String(port) });
        expect(await service.exit()).toBe(1);
        expect(service.output).toContain(`127.0.0.1:${port}`);
        expect(service.output.match(/The service cannot listen: .*EADDRINUSE/g)).toHaveLength(1);
        expect(service.output).not.toMatch(/^ +at /m);
      } finally {
        occupant.close();
      }
    },
  );

  it('ends the service with its message, once, and its exit code', async () => {
    service = ServiceProcess.spawn(folder, {
      WORKERS: '2',
      ...inWorkersAbove(0, `console.error('no'); process.exit(7);`),
    });
    expect(await service.exit()).toBe(7);
    expect(service.output).toBe('no\n');
  });

  it('ends the service when the database is of a newer version; with WORKERS=1 there is none', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '1' });
    expect(workersOf(service)).toEqual([]);
    expect((await metricsOf(service)).has('workers_serving')).toBe(false);
    await service.end();
    const database = openDatabase(`${folder}/cookies.sqlite`);
    database.exec(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later9999999999999')`);
    database.close();
    service = ServiceProcess.spawn(folder, { WORKERS: '2' });
    expect(await service.exit()).toBe(1);
    expect(service.output.match(/The database has the migrations Later9999999999999/g)).toHaveLength(1);
  });

  it('leaves the old ones serving when it was to replace one of them on SIGHUP', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2', ...inWorkersAbove(2, 'process.exit(3);') });
    const before = workersOf(service);
    service.child.kill('SIGHUP');
    await untilLogged(service, 'A new worker could not start; the old workers that are left go on serving');
    expect(workersOf(service)).toEqual(before);
    expect((await sendAlone(service)).status).toBe(200);
  });

  it('is tried five times for one that has crashed, with pauses, while the others serve; then the service ends', async () => {
    const fails = inWorkersAbove(2, `console.error('cannot start ' + Date.now()); process.exit(3);`);
    service = await ServiceProcess.start(folder, { WORKERS: '2', ...fails });
    const code = service.exit();
    process.kill(workersOf(service)[0]!, 'SIGKILL');
    await untilLogged(service, 'cannot start');
    expect((await sendAlone(service)).status).toBe(200);
    expect(await code).toBe(3);
    const times = [...service.output.matchAll(/cannot start (\d+)/g)].map(([, time]) => Number(time));
    expect(times).toHaveLength(5);
    const pauses = times.slice(1).map((time, index) => time - times[index]!);
    [1000, 2000, 4000, 8000].forEach((least, index) => expect(pauses[index]).toBeGreaterThanOrEqual(least));
    expect(service.output).toContain('"msg":"Stopping (a worker that has ended cannot be replaced)"');
    expect(service.output).toContain('"msg":"Stopped"');
  });
});

/** Throws an error on SIGUSR2, and sends its primary messages that are none of the service's, as a module may. */
const MODULE = `
  process.on('SIGUSR2', () => { setImmediate(() => { throw new Error('thrown by a timer'); }); });
  for (const message of ['metrics', 1, null, { type: 'serving' }, { type: 'metrics', id: 0, value: [{}] }]) process.send(message);`;

/** Each test goes on with the service as the one before has left it. */
describe('a service with two workers', () => {
  const place = temporaryFolder();
  let shared: ServiceProcess;

  beforeAll(async () => {
    shared = await ServiceProcess.start(place, { WORKERS: '2', ...preloaded(NAMES_ITSELF + inWorkers(MODULE)) });
  });

  afterAll(async () => {
    await shared.end('SIGKILL');
    rmSync(place, { recursive: true, force: true });
  });

  /** A worker of a loaded machine may reply too late once. */
  async function untilHealthy(probe: 'live' | 'ready'): Promise<void> {
    let status = 0;
    for (let tries = 0; tries < 50 && status !== 200; tries++) {
      status = (await fetch(`${shared.managementUrl}/health/${probe}`)).status;
      if (status !== 200) await sleep(100);
    }
    expect(status).toBe(200);
  }

  it('responds from both on one port, each sees what the other has stored, and it says once where it listens', async () => {
    const posts = await Promise.all(Array.from({ length: 10 }, () => sendAlone(shared, { method: 'POST' })));
    expect(posts.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201));
    expect(new Set(posts.map(({ worker }) => worker))).toEqual(new Set(workersOf(shared)));
    for (const id of Array.from({ length: 10 }, (_, index) => index + 1)) {
      const path = `/cookies/${id}`;
      const [one, other] = [await sendAlone(shared, { path }), await sendAlone(shared, { path })];
      expect([one.status, other.status]).toEqual([200, 200]);
      expect(one.worker).not.toBe(other.worker);
    }
    expect(shared.output.match(/Cookies: /g)).toHaveLength(1);
    expect(shared.output.match(/Ran the migrations/g)).toHaveLength(1);
  });

  it('adds its metrics up exactly, also those of workers that have been replaced, and ignores messages of modules', async () => {
    await untilMetric(shared, 'storage_records{resource="cookies"}', countsOf(place).count);
    await untilMetric(shared, 'storage_capacity_records{resource="cookies"}', 10_000);
    await untilMetric(shared, 'http_response_buffer_limit_bytes', 67_108_864);
    await untilMetric(shared, 'workers_serving', 2);
    const before = await metricsOf(shared);
    const lists = before.get(LISTS) ?? 0;
    for (let sent = 0; sent < 21; sent++) await sendAlone(shared);
    await untilMetric(shared, LISTS, lists + 21);
    await untilMetric(shared, LISTS.replace('_count{', '_bucket{le="+Inf",'), lists + 21);
    shared.child.kill('SIGHUP');
    for (let sent = 0; sent < 11; sent++) expect((await sendAlone(shared)).status).toBe(200);
    await untilLogged(shared, 'The workers are replaced');
    await untilMetric(shared, LISTS, lists + 32);
    expect((await metricsOf(shared)).get('process_start_time_seconds')).toBe(before.get('process_start_time_seconds'));
  });

  it('serves on when a worker is killed, stays ready, and has another one soon', async () => {
    const ledger = new Ledger();
    const before = await metricsOf(shared);
    const load = startWriters(shared, ledger, CLIENTS);
    const [killed, other] = workersOf(shared);
    await until(
      () => ledger.acknowledged.size > 50,
      () => 'the load writes',
    );
    process.kill(killed!, 'SIGKILL');
    await untilLogged(shared, `(process ${killed}) has ended (SIGKILL); it will be replaced`);
    expect(await sendAlone(shared)).toEqual({ status: 200, worker: other });
    await untilHealthy('ready');
    await untilServing(shared, 2, killed);
    await load.end();
    const after = await metricsOf(shared);
    expect(after.get('worker_crashes_total')! - before.get('worker_crashes_total')!).toBe(1);
    expect(after.get(LISTS)).toBeGreaterThan(before.get(LISTS) ?? 0);
    // Only connections of the one that was killed have broken, each once.
    expect(ledger.answered(/unknown/)).toBeLessThanOrEqual(CLIENTS);
    expect(ledger.lostIn(storedIn(place))).toEqual([]);
    const served = await Promise.all(Array.from({ length: 6 }, () => sendAlone(shared)));
    expect(new Set(served.map(({ worker }) => worker))).toEqual(new Set(workersOf(shared)));
  });

  it('replaces one that has ended with an error that nothing caught', async () => {
    const [failing] = workersOf(shared);
    process.kill(failing!, 'SIGUSR2');
    await untilLogged(shared, `(process ${failing}) has ended (exit code 1); it will be replaced`);
    expect(shared.output).toMatch(/"level":"fatal".*thrown by a timer/);
    await untilServing(shared, 2, failing);
    expect((await (await Client.of(shared)).post(COOKIE)).status).toBe(201);
  });

  it('is neither live nor ready while one of them does not respond', async () => {
    const [frozen] = workersOf(shared);
    process.kill(frozen!, 'SIGSTOP');
    try {
      expect((await fetch(`${shared.managementUrl}/health/live`)).status).toBe(503);
      const ready = await fetch(`${shared.managementUrl}/health/ready`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({
        checks: { running: expect.stringMatching(/^Worker .* does not respond$/) },
      });
      expect((await metricsOf(shared)).get('storage_records{resource="cookies"}')).toEqual(expect.any(Number));
    } finally {
      process.kill(frozen!, 'SIGCONT');
    }
    await untilHealthy('live');
    await untilHealthy('ready');
  });

  it('leaves none behind when it is killed', async () => {
    const workers = workersOf(shared);
    await shared.end('SIGKILL');
    await until(
      () => workers.every((worker) => !isRunning(worker)),
      () => `the end of ${workers.join(' and ')}`,
    );
  });
});

describe('a service with two workers that stops', () => {
  it('is not ready meanwhile, says so on its management port, and takes no signal of a terminal twice', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2', SHUTDOWN_DELAY: '4000' });
    // A terminal sends it to all of them.
    for (const worker of workersOf(service)) process.kill(worker, 'SIGINT');
    const code = service.end('SIGINT');
    await untilLogged(service, 'Stopping (SIGINT)');
    const ready = await fetch(`${service.managementUrl}/health/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ checks: { running: 'the service is shutting down' } });
    expect((await sendAlone(service)).status).toBe(200);
    expect(await code).toBe(0);
    expect(service.output).not.toContain('"level":"error"');
  });

  it('exits with 1 at once on a second signal, and leaves no worker', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2', SHUTDOWN_DELAY: '10000' });
    const workers = workersOf(service);
    service.child.kill('SIGTERM');
    await untilLogged(service, 'Stopping (SIGTERM)');
    expect(await service.end()).toBe(1);
    await until(
      () => workers.every((worker) => !isRunning(worker)),
      () => `the end of ${workers.join(' and ')}`,
    );
  });
});

/** Requests without a token, each with an id of its own of 128 characters, some in flight at a time on one connection. */
async function rejected(url: string, connection: number, count: number, inFlight = 10): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let sent = 0;
  let done = 0;
  const send = (more: number): void => {
    const ids = Array.from({ length: Math.min(more, count - sent) }, () => `${connection}-${++sent}-`.padEnd(128, 'x'));
    socket.write(ids.map((id) => `GET /cookies HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ${id}\r\n\r\n`).join(''));
  };
  let rest = '';
  socket.on('data', (chunk) => {
    const responses = (rest + chunk.toString('latin1')).split('HTTP/1.1 401 ');
    rest = responses.at(-1)!;
    done += responses.length - 1;
    if (done >= count) socket.end();
    else send(responses.length - 1);
  });
  send(inFlight);
  await once(socket, 'close');
  expect(done).toBe(count);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
