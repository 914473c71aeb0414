import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopped } from './faults/stopped.js';
import { storedIn } from './load.js';
import { Client, COOKIE, temporaryFolder, token } from './service.js';
import { ServiceProcess } from './service-process.js';

describe('stopping under load', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'answers every request of an open connection, keeps what it acknowledged and exits with 0 on %s under load',
    async (signal) => {
      await stopped(signal)({ times: 1 });
    },
  );
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

  it('leaves one tidy file: the write-ahead log is gone after a clean stop', async () => {
    service = await ServiceProcess.start(folder);
    await (await Client.of(service)).post(COOKIE);
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(true);
    expect(await service.end()).toBe(0);
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(false);
    expect(existsSync(join(folder, 'cookies.sqlite-shm'))).toBe(false);
    expect(storedIn(folder).count).toBe(1);
  });

  it('is not ready and refuses new connections while it finishes a slow request', async () => {
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
    service = await ServiceProcess.start(folder, { SHUTDOWN_DELAY: '1500', DOCS: 'true' });
    const code = service.end();
    await logged(service, 'Stopping (SIGTERM)');
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(503);
    await sleep(700);
    const answer = await fetch(`${service.url}/openapi.json`);
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await sleep(1000);
    await expect(connected(service.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await code).toBe(0);
  });

  it.each([
    ['has been answered and is idle', 'GET /openapi.json HTTP/1.1\r\nHost: cookies\r\n\r\n'],
    ['has never sent a request', ''],
  ])('does not wait for a connection that %s', async (_what, sent) => {
    service = await ServiceProcess.start(folder, { DOCS: 'true' });
    const idle = await connected(service.url);
    const closed = new Promise((resolve) => idle.on('close', resolve));
    idle.on('data', () => {});
    idle.write(sent);
    await sleep(300);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(5000);
    await closed;
  });

  it('cuts off a request that does not finish within SHUTDOWN_TIMEOUT and still exits with 0', async () => {
    service = await ServiceProcess.start(folder, { SHUTDOWN_TIMEOUT: '1000' });
    const slow = await SlowPost.begin(service, bearer);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeGreaterThanOrEqual(1000);
    expect(performance.now() - began).toBeLessThan(6000);
    expect(service.output).toContain('Requests were cut off after 1000 ms');
    await slow.closed;
    expect(existsSync(join(folder, 'cookies.sqlite-wal'))).toBe(false);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 1 at once on a second signal (%s)', async (second) => {
    service = await ServiceProcess.start(folder);
    const slow = await SlowPost.begin(service, bearer);
    service.child.kill('SIGTERM');
    await logged(service, 'Stopping (SIGTERM)');
    expect(await service.end(second)).toBe(1);
    await slow.closed;
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
  for (let waited = 0; waited < 5000; waited += 10) {
    if (service.output.includes(text)) return;
    await sleep(10);
  }
  throw new Error(`The service did not log "${text}":\n${service.output}`);
}
