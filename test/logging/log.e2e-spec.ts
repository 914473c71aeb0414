import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../faults/fault.js';
import { preloaded } from '../support/faults/preloaded.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

const DROPPED = 'Log lines were dropped while the reader of the log did not take them';

/** More than fit into what a dropped line of a request leaves free. */
const WARNINGS = 50;

/** Logs warnings on SIGUSR2; on SIGWINCH its clock is a minute and a second further. */
const WARNS = preloaded(`
  const now = Date.now;
  process.on('SIGWINCH', () => (Date.now = () => now() + 61_000));
  process.on('SIGUSR2', () => {
    for (let count = 1; count <= ${WARNINGS}; count++) new Logger('Test').warn(\`warning \${count}\`);
  });
`);

describe('the log in production', () => {
  let folder: string;
  let service: ServiceProcess;

  beforeEach(() => {
    folder = temporaryFolder();
  });

  afterEach(async () => {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('drops and counts lines of requests, not warnings, while its reader stalls; reports that a minute later and at the end', async () => {
    service = await ServiceProcess.start(folder, WARNS);
    service.child.stdout!.pause();
    await rejectedRequests(service, 24_000);
    const dropped = await droppedLines(service, 'info');
    const seenAt = Date.now();
    expect(dropped).toBeGreaterThan(1000);
    expect((await (await Client.of(service)).post(COOKIE)).status).toBe(201);
    // Too little for a report, which would be one of many.
    await readSome(service);
    await rejectedRequests(service, 3000);
    service.child.kill('SIGWINCH');
    await readSome(service);
    await rejectedRequests(service, 3000);
    const droppedInAll = await droppedLines(service, 'info');
    expect(droppedInAll).toBeGreaterThan(dropped + 1000);
    service.child.kill('SIGUSR2');
    expect(await droppedLines(service, 'warn')).toBe(0);

    service.child.stdout!.resume();
    await until(
      () => service.output.split(DROPPED).length > 2,
      () => 'the second report of dropped lines',
    );
    expect(await service.end()).toBe(0);
    const lines = linesOf(service);
    const warnings = lines.map(({ msg }) => msg as string).filter((msg) => msg.startsWith('warning '));
    expect(warnings).toEqual(Array.from({ length: WARNINGS }, (_, index) => `warning ${index + 1}`));
    const reports = lines.filter(({ msg }) => msg === DROPPED);
    expect(reports).toHaveLength(2);
    const [first, second] = reports.map((report) => ({
      since: Date.parse(report['since'] as string),
      at: Date.parse(report['time'] as string),
      dropped: report['dropped'] as number,
    }));
    expect(first!.since).toBeLessThan(seenAt);
    expect(second!.since).toBeGreaterThanOrEqual(first!.at);
    expect(first!.dropped + second!.dropped).toBe(droppedInAll);
    const requests = lines.filter(({ route }) => route === '/cookies');
    expect(requests.length + droppedInAll).toBe(30_001);
  });

  it('serves on at the same cost when its reader has gone, and exits with 0 on SIGTERM', async () => {
    service = await ServiceProcess.start(folder);
    service.child.stdout!.destroy();
    await rejectedRequests(service, 3000);
    expect((await (await Client.of(service)).post(COOKIE)).status).toBe(201);
    const before = processorTimeOf(service);
    await sleep(2000);
    expect(processorTimeOf(service) - before).toBeLessThan(0.2);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it('does not keep the service from exiting with 0 on SIGTERM while its reader stalls', async () => {
    service = await ServiceProcess.start(folder);
    service.child.stdout!.pause();
    await rejectedRequests(service, 5000);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it('is written whole to a slow reader when the service stops, also a line that is longer than a pipe takes at once', async () => {
    const long = `process.on('SIGUSR2', () => new Logger('Test').warn('x'.repeat(1_000_000)));`;
    service = await ServiceProcess.start(folder, preloaded(long));
    service.child.stdout!.pause();
    await rejectedRequests(service, 5000);
    service.child.kill('SIGUSR2');
    const code = service.end();
    // The end of the process waits a second for the reader, and this one is slower on a loaded machine.
    await sleep(100);
    service.child.stdout!.resume();
    expect(await code).toBe(0);
    if (!service.child.stdout!.readableEnded) await once(service.child.stdout!, 'end');
    expect(linesOf(service).filter(({ route }) => route === '/cookies')).toHaveLength(5000);
    expect(linesOf(service).find(({ context }) => context === 'Test')).toMatchObject({ msg: 'x'.repeat(1_000_000) });
    expect(linesOf(service).at(-1)).toMatchObject({ msg: 'Stopped' });
    // Nest says of each module and route that it is there.
    expect(service.output).not.toMatch(/InstanceLoader|RouterExplorer|RoutesResolver|NestFactory|NestApplication/);
  });

  (existsSync('/dev/full') ? it : it.skip)('serves on when it is written to a full disk', async () => {
    const full = openSync('/dev/full', 'w');
    const port = await freePort();
    service = ServiceProcess.spawn(folder, { PORT: String(port) }, { stdout: full });
    closeSync(full);
    const url = `http://127.0.0.1:${port}`;
    await listening(port);
    await rejectedRequests({ url }, 1000);
    expect((await (await Client.of({ url })).post(COOKIE)).status).toBe(201);
    expect(await service.end()).toBe(0);
    expect(service.output).toBe('');
  });

  it('needs nothing of the text for people', async () => {
    const program = `
      import { createRequire } from 'node:module';
      const { cache } = createRequire('file:///');
      process.on('SIGUSR2', () => {
        const loaded = Object.keys(cache);
        console.error('pino loaded: ' + loaded.some((file) => file.includes('/pino/')) + ', pino-pretty loaded: ' + loaded.some((file) => file.includes('/pino-pretty/')));
      });`;
    service = await ServiceProcess.start(folder, preloaded(program));
    service.child.kill('SIGUSR2');
    await until(
      () => service.output.includes('pino-pretty loaded'),
      () => 'the list of modules',
    );
    expect(service.output).toContain('pino loaded: true, pino-pretty loaded: false');
  });
});

describe('the log in development', () => {
  let folder: string;
  let service: ServiceProcess;

  beforeEach(() => {
    folder = temporaryFolder();
  });

  afterEach(async () => {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** Ends a line, or hides, moves or reorders what a terminal shows. */
  const HOSTILE =
    'a\r\n[00:00:00.000] INFO: forged\u001b[2J\u0007\u0085\u009b1m\u2028\u2029\u202e\u200b\u0000\u{e0041}';

  it('shows a request of a subject with line ends and escape sequences in one line, with these escaped', async () => {
    service = await ServiceProcess.start(folder, { NODE_ENV: 'development' });
    const client = await Client.of(service, { subject: HOSTILE });
    const { headers } = await client.get('/cookies');
    await until(
      () => service.output.includes(headers.get('x-request-id')!),
      () => 'the line of the request',
    );
    const line = service.output.split('\n').find((text) => text.includes(headers.get('x-request-id')!));
    expect(line).toMatch(
      /^\[[0-9:.]{12}\] INFO: GET \/cookies 200 in [0-9.]+ ms for a\\r\\n\[00:00:00\.000\] INFO: forged/,
    );
    expect(line).toContain('forged\\u001b[2J\\u0007\\u0085\\u009b1m\\u2028\\u2029\\u202e\\u200b\\u0000\\ue0041');
    expectOnlyLines(service.output);
  });

  it('shows messages, contexts, fields and errors of modules in one line, and below only the frames of a stack', async () => {
    const text = JSON.stringify(HOSTILE);
    service = await ServiceProcess.start(folder, {
      NODE_ENV: 'development',
      ...preloaded(`
        const hostile = ${text};
        process.on('SIGUSR2', () => {
          new Logger(hostile).warn(hostile);
          new Logger('Test').log({ [hostile]: hostile });
          new Logger('Test').warn('with detail', { [hostile]: [hostile] });
          const error = new Error(hostile, { cause: new Error('cause of ' + hostile) });
          new Logger('Test').error(Object.assign(error, { code: hostile, name: hostile }));
          new Logger('Test').error('as Nest does', error.stack);
          new Logger('Test').log('the last');
        });`),
    });
    service.child.kill('SIGUSR2');
    await until(
      () => service.output.includes('the last'),
      () => 'the last line',
    );
    expectOnlyLines(service.output);
    expect(service.output.match(/^ {4}at /gm)!.length).toBeGreaterThan(1);
    expect(service.output).toMatch(/^ {4}caused by: /m);
    expect(service.output).toContain('[Test] as Nest does {"detail":"');
  });
});

/** That every line is an entry or a frame of a stack, without a character that a terminal does not print. */
function expectOnlyLines(output: string): void {
  const others = output.split('\n').filter((line) => !/^\[[0-9:.]{12}\] [A-Z]+: |^ {4}(at|caused by:) |^$/.test(line));
  expect(others).toEqual([]);
  expect(output.match(/^\[00:00:00\.000\]/gm)).toBeNull();
  expect(output.replaceAll('\n', '').match(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)).toBeNull();
}

/** Requests without a token, with the longest id, over a few connections with a few requests in flight on each. */
async function rejectedRequests({ url }: { readonly url: string }, count: number): Promise<void> {
  const [connections, inFlight] = [5, 10];
  await Promise.all(Array.from({ length: connections }, () => rejectedOnOne(url, count / connections, inFlight)));
}

async function rejectedOnOne(url: string, count: number, inFlight: number): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const request = `GET /cookies HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ${'r'.repeat(128)}\r\n\r\n`;
  let rest = '';
  let done = 0;
  socket.on('data', (chunk) => {
    const responses = (rest + chunk.toString('latin1')).split('HTTP/1.1 401 ');
    rest = responses.at(-1)!;
    const arrived = responses.length - 1;
    done += arrived;
    const sent = done - arrived + inFlight;
    const more = Math.min(arrived, count - sent);
    if (more > 0) socket.write(request.repeat(more));
    if (done >= count) socket.end();
  });
  socket.write(request.repeat(inFlight));
  await once(socket, 'close');
  expect(done).toBe(count);
}

/** Takes a small part of what the service has written, and stalls again. */
async function readSome({ child: { stdout } }: ServiceProcess): Promise<void> {
  let bytes = 0;
  await new Promise<void>((resolve) => {
    const count = (chunk: { readonly length: number }): void => {
      bytes += chunk.length;
      if (bytes < 200_000) return;
      stdout!.off('data', count).pause();
      resolve();
    };
    stdout!.on('data', count).resume();
  });
}

async function droppedLines({ managementUrl }: ServiceProcess, level: string): Promise<number> {
  const metrics = await (await fetch(`${managementUrl}/metrics`)).text();
  return Number(new RegExp(`^log_lines_dropped_total\\{level="${level}"\\} ([0-9]+)$`, 'm').exec(metrics)![1]);
}

/** Every line of JSON, of which none may be torn. */
function linesOf({ output }: ServiceProcess): Record<string, unknown>[] {
  const lines = output.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Seconds of processor time, as Linux reports them. */
function processorTimeOf({ child }: ServiceProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(port: number): Promise<void> {
  for (let waited = 0; waited < 30_000; waited += 50) {
    if (await canConnect(port)) return;
    await sleep(50);
  }
  throw new Error(`Nothing listens on ${port}`);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
