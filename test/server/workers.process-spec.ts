import { buffer } from 'node:stream/consumers';
import { LOGS_ITS_SIGNAL } from '../support/faults/preloaded.js';
import { expectKept, Ledger, writeUntil } from '../support/load/ledger.js';
import { connected, responsesIn } from '../support/raw-http.js';
import { temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { shared } from '../support/shared.js';
import { untilWritten } from '../faults/fault.js';
import { Load } from '../support/load/load.js';
import { workersOf } from '../support/workers/workers.js';

const CLIENTS = 6;
/** Connections that the system has made, and the service has not accepted yet. */
const WAITING = 100;

describe('a service with two workers under load', () => {
  const folder = temporaryFolder();
  const ledger = new Ledger();
  const environment = { WORKERS: '2', COOKIES_CAPACITY: '1000000', ...LOGS_ITS_SIGNAL };
  const service = shared(() => ServiceProcess.start(folder, environment));

  const hooks = (): number => service.output.split('hook: SIGTERM').length - 1;

  it('loses no request and nothing acknowledged while its workers are replaced on SIGHUP', async () => {
    const before = workersOf(service);
    const load = new Load([service], ledger, CLIENTS);
    await untilWritten(ledger, 50);
    service.child.kill('SIGHUP');
    await service.printed('The workers are replaced');
    await untilWritten(ledger, 50);
    await load.end();
    expect(ledger.answered(/ (5\d\d|unknown)/)).toBe(0);
    expectKept(folder, ledger);
    const after = workersOf(service);
    expect(after).toHaveLength(2);
    expect(after.filter((worker) => before.includes(worker))).toEqual([]);
    expect(service.child.exitCode).toBe(null);
  });

  it('finishes every request that it has begun, or that waits at the port, on SIGTERM, calls the hooks of each worker, and exits with 0', async () => {
    const load = writeUntil(AbortSignal.timeout(60_000), service, ledger, CLIENTS);
    await untilWritten(ledger, 100);
    const waiting = await Promise.all(Array.from({ length: WAITING }, () => connected(service.url)));
    for (const socket of waiting) socket.write('GET /cookies HTTP/1.1\r\nHost: localhost\r\n\r\n');
    // Those of the workers that have been replaced.
    const hooksBefore = hooks();
    const code = service.end();
    const responses = (await Promise.all(waiting.map(buffer))).flatMap(responsesIn);
    expect(responses.map(({ status }) => status)).toEqual(waiting.map(() => 401));
    expect(await load).toBe(CLIENTS);
    expect(await code).toBe(0);
    expect(ledger.answered(/ (5\d\d|unknown)/)).toBe(0);
    expectKept(folder, ledger);
    await service.outputEnd();
    expect(hooks()).toBe(hooksBefore + 2);
    const { lines } = service;
    expect(lines.at(-1)).toMatchObject({ msg: 'Stopped', context: 'Service' });
    expect(lines.filter(({ route }) => route !== undefined)).toHaveLength(ledger.answered(/./) + WAITING);
  });
});
