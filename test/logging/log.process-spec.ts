import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { preloaded } from '../support/faults/preloaded.js';
import { sendRejectedRequests } from '../support/load/rejected-requests.js';
import { metricsOf } from '../support/metrics.js';
import { freePort } from '../support/postgres/postgres-server.js';
import { connected } from '../support/raw-http.js';
import { Client, COOKIE, temporaryFolder, token } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { shared } from '../support/shared.js';
import { until } from '../support/until.js';

const DROPPED = 'Log lines were dropped while the reader of the log did not take them';

describe('the log in production', () => {
  const PROGRAM = `
    import { createRequire } from 'node:module';
    const { cache } = createRequire('file:///');
    process.on('SIGUSR2', () => {
      new Logger('Test').warn('x'.repeat(400_000));
      const loaded = ['pino', 'pino-pretty'].filter((name) => Object.keys(cache).some((file) => file.includes('/' + name + '/')));
      new Logger('Test').log('loaded: ' + loaded);
    });`;
  const service = shared(() => ServiceProcess.start(temporaryFolder(), preloaded(PROGRAM)));

  // The next test ends the service.
  it('drops and counts lines while its reader stalls, and reports their number when it reads again', async () => {
    const long = { token: await token({ subject: 's'.repeat(1024), scope: '' }) };
    const stalls: { readonly dropped: number; readonly seenAt: number }[] = [];
    while (stalls.length < 2) {
      service.child.stdout!.pause();
      await sendRejectedRequests(service, 5000, long);
      const dropped = (await metricsOf(service)).get('log_lines_dropped_total')!;
      stalls.push({ dropped, seenAt: Date.now() });
      expect((await Client.of(service).post(COOKIE)).status).toBe(201);
      service.child.stdout!.resume();
      await until(() => service.output.split(DROPPED).length > stalls.length, 'a report of dropped lines');
    }
    const reports = service.lines.filter(({ msg }) => msg === DROPPED);
    const [first, second] = reports.map(({ since, dropped }) => ({
      since: Date.parse(since as string),
      dropped: dropped as number,
    }));
    expect(first!.dropped).toBeGreaterThan(1000);
    expect(first!.since).toBeLessThan(stalls[0]!.seenAt);
    expect(second!.since).toBeGreaterThan(stalls[0]!.seenAt);
    expect(reports).toHaveLength(2);
    const requests = service.lines.filter(({ route }) => route === '/cookies');
    expect(requests.length + first!.dropped + second!.dropped).toBe(10_002);
    expect((await metricsOf(service)).get('log_lines_dropped_total')).toBe(first!.dropped + second!.dropped);
  });

  it('is written whole to a slow reader when the service stops, also a line longer than the buffer of a pipe', async () => {
    const before = service.lines.length;
    service.child.stdout!.pause();
    // More than the buffer of the pipe, and little enough to be read in a second on a loaded machine.
    await sendRejectedRequests(service, 700);
    service.child.kill('SIGUSR2');
    const code = service.end();
    // The process waits one second for the reader.
    await sleep(100);
    service.child.stdout!.resume();
    expect(await code).toBe(0);
    await service.outputEnd();
    const lines = service.lines.slice(before);
    expect(lines.filter(({ route }) => route === '/cookies')).toHaveLength(700);
    expect(lines.find(({ context }) => context === 'Test')).toMatchObject({ msg: 'x'.repeat(400_000) });
    expect(lines.at(-1)).toMatchObject({ msg: 'Stopped' });
    // Production does not load pino-pretty.
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'loaded: pino' }));
    // Nest's lines about each module and route are not logged.
    expect(service.output).not.toMatch(/InstanceLoader|RouterExplorer|RoutesResolver|NestFactory|NestApplication/);
  });

  it('lets the service continue at equal cost when its reader has gone, and exit with 0 on SIGTERM', async () => {
    await using service = await ServiceProcess.start(temporaryFolder());
    service.child.stdout!.destroy();
    await sendRejectedRequests(service, 3000);
    expect((await Client.of(service).post(COOKIE)).status).toBe(201);
    const before = processorTimeOf(service);
    await sleep(2000);
    expect(processorTimeOf(service) - before).toBeLessThan(0.2);
    const began = performance.now();
    expect(await service.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  (existsSync('/dev/full') ? it : it.skip)('serves on when it is written to a full disk', async () => {
    const full = openSync('/dev/full', 'w');
    const port = await freePort();
    await using service = ServiceProcess.spawn(temporaryFolder(), { PORT: String(port) }, { stdout: full });
    closeSync(full);
    const url = `http://127.0.0.1:${port}`;
    const canConnect = () =>
      connected(url).then(
        (socket) => socket.destroy().destroyed,
        () => false,
      );
    await until(canConnect, `a service that listens on ${port}`, 60_000);
    await sendRejectedRequests({ url }, 1000);
    expect((await Client.of({ url }).post(COOKIE)).status).toBe(201);
    expect(await service.end()).toBe(0);
    expect(service.output).toBe('');
  });
});

describe('the log in development', () => {
  /** Characters that end a line, or hide, move or reorder text on a terminal. */
  const HOSTILE =
    'a\r\n[00:00:00.000] INFO: forged\u001b[2J\u0007\u0085\u009b1m\u2028\u2029\u202e\u200b\u0000\u{e0041}';

  const LOGS_IT = `
    const hostile = ${JSON.stringify(HOSTILE)};
    process.on('SIGUSR2', () => {
      new Logger(hostile).warn(hostile);
      new Logger('Test').log({ [hostile]: hostile });
      new Logger('Test').warn('with detail', { [hostile]: [hostile] });
      const error = new Error(hostile, { cause: new Error('cause of ' + hostile) });
      new Logger('Test').error(Object.assign(error, { code: hostile, name: hostile }));
      new Logger('Test').error('as Nest does', error.stack);
      new Logger('Test').error('as others do', new Error('the reason'), { number: 1n, self: globalThis });
      new Logger('Test').log({ number: 1n });
      new Logger().error('without a context', new Error('its reason'));
      const ofDatabase = { query: 'INSERT INTO jars', code: '23505', parameters: ['private'], detail: 'Key (label)=(private)', driverError: {} };
      new Logger('Test').error(Object.assign(new Error('not unique'), ofDatabase));
      new Logger('Test').log('the last');
    });`;
  const settings = { NODE_ENV: 'development', ...preloaded(LOGS_IT) };
  const service = shared(() => ServiceProcess.start(temporaryFolder(), settings));

  it('shows a request of a subject with line ends and escape sequences in one line, with these escaped', async () => {
    const client = Client.of(service, { subject: HOSTILE });
    const id = (await client.get('/cookies')).headers.get('x-request-id')!;
    await service.printed(id);
    const line = service.output.split('\n').find((text) => text.includes(id));
    expect(line).toMatch(
      /^\[[0-9:.]{12}\] INFO: GET \/cookies 200 in [0-9.]+ ms for a\\r\\n\[00:00:00\.000\] INFO: forged/,
    );
    expect(line).toContain('forged\\u001b[2J\\u0007\\u0085\\u009b1m\\u2028\\u2029\\u202e\\u200b\\u0000\\ue0041');
    expectOnlyLines(service.output);
  });

  it('shows messages, contexts, fields and errors of modules in one line, and below only the frames of a stack', async () => {
    service.child.kill('SIGUSR2');
    await service.printed('the last');
    expectOnlyLines(service.output);
    expect(service.output.match(/^ {4}at /gm)!.length).toBeGreaterThan(1);
    expect(service.output).toMatch(/^ {4}caused by: /m);
    expect(service.output).toContain('[Test] as Nest does {"detail":"');
    expect(service.output).toMatch(/\[Test\] as others do \{.*"message":"the reason".*"number":1/);
    expect(service.output).toContain('[Test] {"detail":{"number":1}}');
    expect(service.output).toMatch(/without a context .*"message":"its reason"/);
    const ofDatabase = '{"err":{"type":"Error","message":"not unique","query":"INSERT INTO jars","code":"23505"}}';
    expect(service.output).toContain(`[Test] not unique ${ofDatabase}\n`);
  });
});

/** Expects that every line is an entry or a stack frame, without unprintable characters. */
function expectOnlyLines(output: string): void {
  const others = output.split('\n').filter((line) => !/^\[[0-9:.]{12}\] [A-Z]+: |^ {4}(at|caused by:) |^$/.test(line));
  expect(others).toEqual([]);
  expect(output.match(/^\[00:00:00\.000\]/gm)).toBeNull();
  expect(output.replaceAll('\n', '').match(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)).toBeNull();
}

/** Seconds of processor time, as Linux reports them. */
function processorTimeOf({ child }: ServiceProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
