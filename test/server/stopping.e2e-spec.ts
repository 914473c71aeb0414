import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopped } from '../faults/stopped.js';
import { expectKept, Ledger, storedIn, writeUntil } from '../support/load/ledger.js';
import { until } from '../faults/fault.js';
import { preloaded, projectModule, withProvider } from '../support/faults/preloaded.js';
import { Client, COOKIE, temporaryFolder, token } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

describe('stopping under load', () => {
  it('answers every request of an open connection, keeps what it acknowledged and exits with 0 on SIGTERM under load', async () => {
    await stopped('SIGTERM')({ times: 1 });
  });
});

describe('stopping', () => {
  let folder: string;
  let service: ServiceProcess;
  let bearer: string;

  beforeEach(async () => {
    folder = temporaryFolder();
    bearer = await token();
  });

  afterEach(async () => {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('is not ready and accepts no new connections while it finishes a slow request', async () => {
    service = await ServiceProcess.start(folder);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    const slow = await SlowPost.begin(service, bearer);
    const code = service.end();
    await logged(service, 'Stopping (SIGTERM)');
    const ready = await fetch(`${service.managementUrl}/health/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ checks: { running: 'the service is shutting down', database: 'ok' } });
    expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
    await expect(connected(service.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    // Longer than idle connections are kept while the service stops: this one is not idle.
    await sleep(800);
    const answer = await slow.finish();
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(await code).toBe(0);
  });

  it('serves new connections for SHUTDOWN_DELAY while it is not ready, so that a balancer can turn to others', async () => {
    service = await ServiceProcess.start(folder, { SHUTDOWN_DELAY: '4000', DOCS: 'true' });
    const code = service.end();
    await logged(service, 'Stopping (SIGTERM)');
    const readiness = await fetch(`${service.managementUrl}/health/ready`);
    await readiness.text();
    expect(readiness.status).toBe(503);
    await sleep(700);
    const response = await fetch(`${service.url}/openapi.json`);
    await response.text();
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
    await sleep(3500);
    await expect(connected(service.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await code).toBe(0);
  });

  it('leaves one tidy file without a write-ahead log, and does not wait for a connection that is idle', async () => {
    service = await ServiceProcess.start(folder, { DOCS: 'true' });
    await (await Client.of(service)).post(COOKIE);
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(true);
    const [answered, unused] = [await connected(service.url), await connected(service.url)];
    const closed = [answered, unused].map((idle) => new Promise((resolve) => idle.on('close', resolve)));
    answered.write('GET /openapi.json HTTP/1.1\r\nHost: cookies\r\n\r\n');
    await once(answered, 'data');
    for (const idle of [answered, unused]) idle.on('data', () => {});
    const began = performance.now();
    expect(await service.end()).toBe(0);
    // SHUTDOWN_TIMEOUT is 10 s.
    expect(performance.now() - began).toBeLessThan(9000);
    await Promise.all(closed);
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(false);
    expect(existsSync(join(folder, 'cookies.sqlite-shm'))).toBe(false);
    expect(storedIn(folder).count).toBe(1);
  });

  it('cuts off a request that does not finish within SHUTDOWN_TIMEOUT and still exits with 0', async () => {
    service = await ServiceProcess.start(folder, { SHUTDOWN_TIMEOUT: '1000' });
    const slow = await SlowPost.begin(service, bearer);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeGreaterThanOrEqual(1000);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(service.output).toContain('Requests were cut off after 1000 ms');
    await slow.closed;
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(false);
  });

  it('commits the write that is in hand before it closes the database', async () => {
    // It ends while the database closes: behind the last request, which would have waited for it.
    const writes = `beforeApplicationShutdown() {
      void this.dataSource.transaction(async (manager) => {
        await manager.query("INSERT INTO cookies (flavor, size, wish) VALUES ('vanilla', 'small', 'late')");
        await new Promise((resolve) => setTimeout(resolve, 300));
        await manager.query("UPDATE cookies SET size = 'large'");
      });
    }`;
    service = await ServiceProcess.start(folder, withProvider(writes));
    expect(await service.end()).toBe(0);
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(false);
    expect(storedIn(folder)).toMatchObject({ count: 1, used: 1 });
    expect(service.output).not.toContain('"level":"error"');
  });

  it('exits with 1 immediately on a second signal', async () => {
    service = await ServiceProcess.start(folder);
    const slow = await SlowPost.begin(service, bearer);
    service.child.kill('SIGTERM');
    await logged(service, 'Stopping (SIGTERM)');
    expect(await service.end('SIGINT')).toBe(1);
    await slow.closed;
  });

  it.each([
    ['a module that never finishes closing', 'onModuleDestroy() { return new Promise(() => {}); }'],
    [
      'a transaction of a module that never ends',
      `onModuleInit() { void this.dataSource.transaction(() => new Promise(() => {})); }
       beforeApplicationShutdown() { return this.dataSource.transaction(() => {}); }`,
    ],
  ])('exits with 1 when SHUTDOWN_TIMEOUT is over by 5 s, and says what is open, with %s', async (_what, body) => {
    const settings = { SHUTDOWN_DELAY: '50', SHUTDOWN_TIMEOUT: '100' };
    service = await ServiceProcess.start(folder, { ...settings, ...withProvider(body) });
    const began = performance.now();
    expect(await service.end()).toBe(1);
    expect(performance.now() - began).toBeGreaterThanOrEqual(5000);
    expect(performance.now() - began).toBeLessThan(12_000);
    expect(service.output).toMatch(
      /^The service did not stop within 5150 ms\. It was closing the modules, .*; still open: .*[1-9][0-9]* [A-Z]/m,
    );
  });

  it('ends when SHUTDOWN_TIMEOUT is over by 5 s while a file operation hangs, for which an exit of Node waits', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const hangs = preloaded(`import { open } from 'node:fs'; open('${pipe}', 'r', () => {});`);
    service = await ServiceProcess.start(folder, { SHUTDOWN_TIMEOUT: '100', ...hangs });
    const began = performance.now();
    await service.end();
    expect(service.child.signalCode).toBe('SIGKILL');
    expect(performance.now() - began).toBeLessThan(12_000);
    expect(service.output).toContain('It was waiting for file operations and DNS lookups; still open: 1 FSReqCallback');
  });

  it('exits with 0 while a client does not read the response it asked for', async () => {
    service = await ServiceProcess.start(folder, { SHUTDOWN_TIMEOUT: '500' });
    const socket = await connected(service.url);
    socket.on('error', () => {});
    socket.pause();
    for (let sent = 0; sent < 200; sent++) socket.write('GET /openapi.json HTTP/1.1\r\nHost: cookies\r\n\r\n');
    await sleep(500);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
    socket.destroy();
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])('exits with 1 and names the address when %s is in use', async (variable) => {
    const occupant = createServer().listen(0, '127.0.0.1');
    await once(occupant, 'listening');
    try {
      const { port } = occupant.address() as AddressInfo;
      service = ServiceProcess.spawn(folder, { [variable]: String(port) });
      expect(await service.exit()).toBe(1);
      expect(service.output).toContain(`127.0.0.1:${port}`);
      expect(service.output).toContain('address already in use');
      expect(service.output).not.toMatch(/^ +at /m);
    } finally {
      occupant.close();
    }
  });
});

describe('an error that nothing catches', () => {
  let folder: string;
  let service: ServiceProcess;

  beforeEach(() => {
    folder = temporaryFolder();
  });

  afterEach(async () => {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['uncaughtException', `setImmediate(() => { throw new Error('thrown by a timer'); });`],
    ['unhandledRejection', `void Promise.reject(new Error('thrown by a timer'));`],
  ])('is logged and stops the service in good order with exit code 1 (%s)', async (origin, statement) => {
    service = await ServiceProcess.start(folder, {
      COOKIES_CAPACITY: '100000',
      ...preloaded(`process.on('SIGUSR2', () => { ${statement} });`),
    });
    const ledger = new Ledger();
    const load = writeUntil(AbortSignal.timeout(20_000), service, ledger, 8);
    await until(
      () => ledger.acknowledged.size > 100,
      () => 'the load writes',
    );
    service.child.kill('SIGUSR2');
    expect(await service.exit()).toBe(1);
    expect(await load).toBe(8);
    expect(ledger.answered(/unknown/)).toBe(0);
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(false);
    expectKept(folder, ledger);
    const lines = service.output.split('\n').filter((line) => line !== '');
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries).toContainEqual(
      expect.objectContaining({
        level: 'fatal',
        msg: 'thrown by a timer',
        err: expect.objectContaining({ stack: expect.stringMatching(/^Error: thrown by a timer\n +at /) }),
      }),
    );
    expect(entries).toContainEqual(expect.objectContaining({ msg: `Stopping (${origin})` }));
    expect(entries.at(-1)).toMatchObject({ msg: 'Stopped' });
  });

  it('does not begin the stop again when more are thrown meanwhile, whatever is thrown', async () => {
    service = await ServiceProcess.start(folder, {
      SHUTDOWN_TIMEOUT: '500',
      ...preloaded(`process.on('SIGUSR2', () => { setInterval(() => { throw undefined; }, 20); });`),
    });
    const slow = await SlowPost.begin(service, await token());
    service.child.kill('SIGUSR2');
    expect(await service.exit()).toBe(1);
    await slow.closed;
    expect(service.output).not.toContain('did not stop within');
    expect(service.output.match(/Stopping \(uncaughtException\)/g)).toHaveLength(1);
    expect(service.output.match(/"level":"fatal"/g)).toHaveLength(1);
    expect(service.output.match(/undefined was thrown, which is no Error/g)!.length).toBeGreaterThan(2);
  });

  it('makes the exit code of a stop by SIGTERM 1 when it is thrown during it', async () => {
    service = await ServiceProcess.start(folder, {
      SHUTDOWN_DELAY: '1000',
      ...preloaded(`process.on('SIGUSR2', () => { throw new Error('thrown while stopping'); });`),
    });
    const code = service.end();
    await logged(service, 'Stopping (SIGTERM)');
    service.child.kill('SIGUSR2');
    expect(await code).toBe(1);
    expect(service.output).toContain('thrown while stopping');
    expect(service.output).toContain('"msg":"Stopped"');
  });

  it('is logged, and ends the process with 1, before the service listens', async () => {
    const throws = `setTimeout(() => { throw new Error('thrown at start'); }, 0);`;
    service = ServiceProcess.spawn(folder, withProvider(`onModuleInit() { ${throws} return new Promise(() => {}); }`));
    expect(await service.exit()).toBe(1);
    expect(service.output).toContain('"level":"fatal"');
    expect(service.output).toContain('thrown at start');
  });

  it('is printed, and ends the process with 1, before there is an application', async () => {
    // When everything is loaded. A timer would be late: from Node 24 on, the start takes no turn of the event loop until it listens.
    const throws = `
      import { AppModule } from '${projectModule('dist/src/app.module.js')}';
      const forRoot = AppModule.forRoot;
      AppModule.forRoot = (config) => {
        process.nextTick(() => { throw new Error('thrown at start'); });
        return forRoot(config);
      };`;
    service = ServiceProcess.spawn(folder, preloaded(throws));
    expect(await service.exit()).toBe(1);
    expect(service.output).toMatch(/^Error: thrown at start\n +at /m);
  });
});

/** A POST of which half the body is sent until `finish`. */
class SlowPost {
  readonly closed: Promise<unknown>;

  private constructor(
    private readonly socket: Socket,
    private readonly rest: string,
  ) {
    // Being cut off may show as a reset; either way it is closed.
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.on('close', resolve));
  }

  static async begin(service: { readonly url: string }, bearer: string): Promise<SlowPost> {
    const body = JSON.stringify(COOKIE);
    const socket = await connected(service.url);
    const slow = new SlowPost(socket, body.slice(10));
    socket.write(
      `POST /cookies HTTP/1.1\r\nHost: cookies\r\nAuthorization: Bearer ${bearer}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    // 100 Continue proves that the service is at this request.
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

async function connected(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

async function logged(service: ServiceProcess, text: string): Promise<void> {
  for (let waited = 0; waited < 30_000; waited += 10) {
    if (service.output.includes(text)) return;
    await sleep(10);
  }
  throw new Error(`The service did not log "${text}":\n${service.output}`);
}
