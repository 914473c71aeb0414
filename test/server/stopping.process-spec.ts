import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import { untilWritten } from '../faults/fault.js';
import { stopped } from '../faults/stopped.js';
import { LOGS_ITS_SIGNAL, preloaded, projectModule, withProvider } from '../support/faults/preloaded.js';
import { expectKept, Ledger, storedIn, writeUntil } from '../support/load/ledger.js';
import { HttpClient } from '../support/http-client.js';
import { connected } from '../support/raw-http.js';
import { COOKIE, temporaryFolder, token, type Endpoint } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { workersOf } from '../support/workers/workers.js';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

const start = (environment: Environment = {}): Promise<ServiceProcess> => ServiceProcess.start(folder, environment);

/** Reads a document again and again, on a new connection when one ends. Returns the code of the first error. */
async function readUntilError(url: string): Promise<string | undefined> {
  using client = new HttpClient(url);
  try {
    for (;;) await client.send('GET', '/openapi.json', {});
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

const hasFile = (name: string): boolean => existsSync(join(folder, name));

describe('stopping', () => {
  it('responds to every request of an open connection, keeps acknowledged writes and exits with 0 on SIGTERM under load', async () => {
    await stopped('SIGTERM')({ times: 1 });
  });

  it.each(['1', '2'])('resets no connections of clients that connect again, with WORKERS=%s', async (workers) => {
    await using service = await start({ WORKERS: workers, DOCS: 'true' });
    const ends = Promise.all(Array.from({ length: 32 }, () => readUntilError(service.url)));
    await sleep(1000);
    expect(await service.end()).toBe(0);
    const refused = (await ends).filter((code) => code === 'ECONNREFUSED');
    // On a busy machine, a request may still be on its way when its idle connection closes.
    expect(refused.length).toBeGreaterThan(24);
  });

  it('is not ready but serves for SHUTDOWN_DELAY, then accepts no connections, closes idle ones, finishes a slow request and leaves one tidy file', async () => {
    await using service = await start({ SHUTDOWN_DELAY: '2000', DOCS: 'true' });
    const health = (probe: 'live' | 'ready') => fetch(`${service.managementUrl}/health/${probe}`);
    expect((await health('ready')).status).toBe(200);
    expect(workersOf(service)).toEqual([]);
    const slow = await SlowPost.begin(service);
    const idle = [await connected(service.url), await connected(service.url)];
    const closed = idle.map((socket) => new Promise((resolve) => socket.resume().on('close', resolve)));
    idle[0]!.write('GET /openapi.json HTTP/1.1\r\nHost: cookies\r\n\r\n');
    await once(idle[0]!, 'data');
    expect(hasFile('cookies.sqlite-wal')).toBe(true);

    const code = service.end();
    await service.printed('Stopping (SIGTERM)');
    const ready = await health('ready');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ checks: { running: 'the service is shutting down', database: 'ok' } });
    const response = await fetch(`${service.url}/openapi.json`);
    await response.text();
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);

    const began = performance.now();
    await Promise.all(closed);
    // Less than SHUTDOWN_TIMEOUT (10 s): idle connections do not delay the stop.
    expect(performance.now() - began).toBeLessThan(9000);
    await expect(connected(service.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect((await health('live')).status).toBe(200);
    const answer = await slow.finish();
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(await code).toBe(0);
    expect(['cookies.sqlite-wal', 'cookies.sqlite-shm'].filter(hasFile)).toEqual([]);
    expect(storedIn(folder).count).toBe(1);
  });

  it('cuts off a request that does not finish within SHUTDOWN_TIMEOUT, also in its handler, and a client that does not read, commits a running write, and exits with 0', async () => {
    // A write in the background, which ends while the database closes, because no request waits for it.
    const hangsAndWrites = `async onModuleInit() {
      const { ResourceRepository } = await import('${projectModule('dist/src/resource/store/resource-repository.js')}');
      ResourceRepository.prototype.get = () => {
        new Logger('Handler').log('The handler runs');
        return new Promise(() => {});
      };
    }
    beforeApplicationShutdown() {
      void this.dataSource.transaction(async (manager) => {
        await manager.query("INSERT INTO cookies (flavor, size, wish) VALUES ('vanilla', 'small', 'late')");
        await new Promise((resolve) => setTimeout(resolve, 300));
        await manager.query("UPDATE cookies SET size = 'large'");
      });
    }`;
    await using service = await start({ SHUTDOWN_TIMEOUT: '1000', DOCS: 'true', ...withProvider(hangsAndWrites) });
    const slow = await SlowPost.begin(service);
    const stalled = (await connected(service.url)).pause();
    stalled.write('GET /openapi.json HTTP/1.1\r\nHost: cookies\r\n\r\n'.repeat(200));
    const hanging = await connected(service.url);
    hanging.write(`GET /cookies/1 HTTP/1.1\r\nHost: cookies\r\nAuthorization: Bearer ${await token()}\r\n\r\n`);
    await service.printed('The handler runs');
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeGreaterThanOrEqual(1000);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(service.output).toContain('Requests were cut off after 1000 ms');
    expect(service.output).toMatch(/"route":"\/cookies\/:id".*"msg":"request cut off"/);
    expect(service.output).not.toContain('"level":"error"');
    await slow.closed;
    stalled.destroy();
    expect(hasFile('cookies.sqlite-wal')).toBe(false);
    expect(storedIn(folder)).toMatchObject({ count: 1, used: 1 });
    expect([...storedIn(folder).rows.values()]).toMatchObject([{ size: 'large' }]);
  });

  it("finishes a running request, calls a module's shutdown hooks with the signal, and exits with 0 on SIGHUP", async () => {
    await using service = await start(LOGS_ITS_SIGNAL);
    const slow = await SlowPost.begin(service);
    service.child.kill('SIGHUP');
    await service.printed('Stopping (SIGHUP)');
    expect(await slow.finish()).toMatch(/^HTTP\/1\.1 201 /);
    expect(await service.exit()).toBe(0);
    expect(service.output.match(/hook: SIGHUP/g)).toHaveLength(1);
  });

  (existsSync('/usr/bin/script') ? it.each(['1', '2']) : it.skip.each(['1', '2']))(
    'exits with 0 on SIGHUP when its terminal has closed, with WORKERS=%s',
    async (workers) => {
      const inTerminal = `trap '' HUP; '$0' '$1' < /dev/tty & echo \\$! > pid; wait \\$!; echo \\$? > code`;
      const through = ['sh', '-c', `exec script -qfc "${inTerminal}" /dev/null`];
      await using terminal = await ServiceProcess.start(folder, { WORKERS: workers }, { through });
      await terminal.end('SIGKILL');
      process.kill(Number(readFileSync(join(folder, 'pid'))), 'SIGHUP');
      // The shell makes the file before it writes to it.
      const code = (): string => (hasFile('code') ? readFileSync(join(folder, 'code'), 'utf8') : '');
      await until(() => code() !== '', 'the end of the service');
      expect(code()).toBe('0\n');
    },
  );

  it('exits with 1 immediately on a second signal', async () => {
    await using service = await start();
    const slow = await SlowPost.begin(service);
    service.child.kill('SIGTERM');
    await service.printed('Stopping (SIGTERM)');
    expect(await service.end('SIGINT')).toBe(1);
    await slow.closed;
  });

  it('ends 5 s after SHUTDOWN_TIMEOUT, and names the open resources', async () => {
    const hangs = withProvider('onModuleDestroy() { return new Promise(() => {}); }');
    await using service = await start({ SHUTDOWN_DELAY: '50', SHUTDOWN_TIMEOUT: '100', ...hangs });
    const began = performance.now();
    expect(await service.end()).toBe(1);
    expect(performance.now() - began).toBeGreaterThanOrEqual(5000);
    expect(performance.now() - began).toBeLessThan(12_000);
    await service.printed('The service did not stop within');
    const message = /^\{.*"msg":"The service did not stop within 5150 ms; still open: .*[a-z].*\}$/m;
    expect(service.output).toMatch(message);
  });
});

describe('an uncaught error', () => {
  const onSignal = (statements: string): Environment => preloaded(`process.on('SIGUSR2', () => { ${statements} });`);

  it('is logged and stops the service in good order with exit code 1, with a line for each request', async () => {
    const throws = onSignal(`setImmediate(() => { throw new Error('thrown by a timer'); });`);
    await using service = await start({ COOKIES_CAPACITY: '100000', ...throws });
    const ledger = new Ledger();
    const load = writeUntil(AbortSignal.timeout(20_000), service, ledger, 8);
    await untilWritten(ledger, 100);
    service.child.kill('SIGUSR2');
    expect(await service.exit()).toBe(1);
    expect(await load).toBe(8);
    expect(ledger.answered(/unknown/)).toBe(0);
    expect(hasFile('cookies.sqlite-wal')).toBe(false);
    expectKept(folder, ledger);
    await service.outputEnd();
    const { lines } = service;
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'fatal',
        msg: 'thrown by a timer',
        err: expect.objectContaining({ stack: expect.stringMatching(/^Error: thrown by a timer\n +at /) }),
      }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'Stopping (uncaughtException)' }));
    expect(lines.at(-1)).toMatchObject({ msg: 'Stopped' });
    expect(lines.filter(({ route }) => route !== undefined)).toHaveLength(ledger.answered(/./));
  });

  it('during a stop makes the exit code 1 and does not begin a second stop, also if values are thrown repeatedly', async () => {
    const throws = `void Promise.reject(new Error('rejected')); setInterval(() => { throw undefined; }, 20);`;
    await using service = await start({ SHUTDOWN_TIMEOUT: '500', ...onSignal(throws) });
    const slow = await SlowPost.begin(service);
    const code = service.end();
    await service.printed('Stopping (SIGTERM)');
    service.child.kill('SIGUSR2');
    expect(await code).toBe(1);
    await slow.closed;
    expect(service.output).not.toContain('did not stop within');
    expect(service.output.match(/Stopping \(.*\)/g)).toEqual(['Stopping (SIGTERM)']);
    expect(service.output).toContain('"msg":"Stopped"');
    expect(service.output.match(/"level":"fatal".*"rejected"/g)).toHaveLength(1);
    expect(service.output.match(/undefined was thrown, which is no Error/g)!.length).toBeGreaterThan(2);
  });

  it('or an unhandled rejection is logged, and ends the process with 1, before the service listens', async () => {
    const rejects = `void Promise.reject(new Error('rejected at start'));`;
    const hangs = withProvider(`onModuleInit() { ${rejects} return new Promise(() => {}); }`);
    await using service = ServiceProcess.spawn(folder, hangs);
    expect(await service.exit()).toBe(1);
    expect(service.output).toMatch(/"level":"fatal".*"rejected at start"/);
  });
});

/** A POST whose second half of the body is sent by `finish`. */
class SlowPost {
  readonly closed: Promise<unknown>;

  private constructor(
    private readonly socket: Socket,
    private readonly rest: string,
  ) {
    this.closed = new Promise((resolve) => socket.on('close', resolve));
  }

  static async begin(service: Endpoint): Promise<SlowPost> {
    const body = JSON.stringify(COOKIE);
    const socket = await connected(service.url);
    const slow = new SlowPost(socket, body.slice(10));
    socket.write(
      `POST /cookies HTTP/1.1\r\nHost: cookies\r\nAuthorization: Bearer ${await token()}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    // 100 Continue proves that the service handles this request.
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 100 /);
    socket.write(body.slice(0, 10));
    return slow;
  }

  async finish(): Promise<string> {
    let answer = '';
    this.socket.on('data', (chunk) => (answer += String(chunk)));
    this.socket.write(this.rest);
    await this.closed;
    return answer;
  }
}
