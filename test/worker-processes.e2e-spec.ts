import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../src/config/config.js';
import { openDatabase } from '../src/database/sqlite/better-sqlite3.js';
import { until } from './faults/fault.js';
import { metricsOf } from './support/metrics.js';
import { Client, COOKIE, temporaryFolder } from './support/service.js';
import { ServiceProcess } from './support/service-process.js';
import { inWorkersAbove, sendAlone, untilLogged, untilServing, workersOf } from './support/workers/workers.js';

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

  it('keeps the service from starting when it is wrong', async () => {
    service = ServiceProcess.spawn(folder, { WORKERS: 'many' });
    expect(await service.exit()).toBe(1);
    expect(service.output).toContain('WORKERS must be a whole number');
  });

  it('starts no further process when it is 1', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '1' });
    expect(workersOf(service)).toEqual([]);
    expect((await metricsOf(service)).has('workers_serving')).toBe(false);
  });
});

describe('the log of two workers', () => {
  it('has exactly one whole line for each of 100 000 requests, and the metrics count them, while its reader is slow', async () => {
    // A real pipe: node gives its children sockets, whose writes are of one piece up to a larger size.
    const through = ['bash', '-c', 'exec "$0" "$@" > >(exec cat)'];
    service = await ServiceProcess.start(folder, { WORKERS: '2' }, { through });
    const [count, connections] = [100_000, 20];
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
    expect((await metricsOf(service)).get(series)).toBe(count);
    clearInterval(slow);
    expect(await service.end()).toBe(0);
    if (!service.child.stdout!.readableEnded) await once(service.child.stdout!.resume(), 'end');
    expect(torn).toBe(0);
    expect(seen.size).toBe(count);
    expect([...seen.values()].filter((lines) => lines !== 1)).toEqual([]);
  });

  it('does not delay the replacement of a killed worker, or the end of the service, while its reader stalls', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2' });
    service.child.stdout!.pause();
    const reject = (count: number) => Promise.all([1, 2, 3, 4].map((index) => rejected(service.url, index, count / 4)));
    await reject(8000);
    const [killed] = workersOf(service);
    process.kill(killed!, 'SIGKILL');
    await untilServing(service, 2, killed);
    await reject(8000);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
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
        service = ServiceProcess.spawn(folder, { WORKERS: '3', [name]: String(port) });
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
      WORKERS: '3',
      ...inWorkersAbove(0, `console.error('no'); process.exit(7);`),
    });
    expect(await service.exit()).toBe(7);
    expect(service.output).toBe('no\n');
  });

  it('ends the service when the database is of a newer version, as one process does', async () => {
    service = await ServiceProcess.start(folder);
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
    await untilLogged(service, 'A new worker could not start: the old ones that are left serve on');
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

describe('workers that fail', () => {
  it('finish their requests after an error that nothing caught, and are replaced', async () => {
    const throws = `process.on('SIGUSR2', () => { setImmediate(() => { throw new Error('thrown by a timer'); }); });`;
    service = await ServiceProcess.start(folder, { WORKERS: '2', ...inWorkersAbove(0, throws) });
    const [failing] = workersOf(service);
    process.kill(failing!, 'SIGUSR2');
    await untilLogged(service, `(process ${failing}) has ended (exit code 1); another one takes its place`);
    expect(service.output).toMatch(/"level":"fatal".*thrown by a timer/);
    await untilServing(service, 2, failing);
    expect((await (await Client.of(service)).post(COOKIE)).status).toBe(201);
    expect(await service.end()).toBe(0);
  });

  it('make the service neither live nor ready while one of them does not respond', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2' });
    const [frozen] = workersOf(service);
    process.kill(frozen!, 'SIGSTOP');
    try {
      expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(503);
      const ready = await fetch(`${service.managementUrl}/health/ready`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({
        checks: { running: expect.stringMatching(/^Worker .* does not respond$/) },
      });
      expect((await metricsOf(service)).get('storage_records{resource="cookies"}')).toBe(0);
    } finally {
      process.kill(frozen!, 'SIGCONT');
    }
    expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
  });

  it('do not outlive their primary', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2' });
    const workers = workersOf(service);
    await service.end('SIGKILL');
    await until(
      () => workers.every((worker) => !isRunning(worker)),
      () => `the end of ${workers.join(' and ')}`,
    );
  });
});

describe('a service with two workers that stops', () => {
  it('is not ready meanwhile, says so on its management port, and takes no signal of a terminal twice', async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2', SHUTDOWN_DELAY: '1500' });
    // A terminal sends it to all of them.
    for (const worker of workersOf(service)) process.kill(worker, 'SIGINT');
    const code = service.end('SIGINT');
    await untilLogged(service, 'Stopping (SIGINT)');
    const ready = await fetch(`${service.managementUrl}/health/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ checks: { running: 'the service is shutting down' } });
    await sleep(500);
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
