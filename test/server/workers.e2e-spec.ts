import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { until } from '../faults/fault.js';
import { contentsOf, expectKeptIn, Ledger, writeUntil } from '../support/load/ledger.js';
import { temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { startWriters, untilLogged, workersOf } from '../support/workers/workers.js';

const CLIENTS = 12;

describe('a service with two workers under load', () => {
  const folder = temporaryFolder();
  const ledger = new Ledger();
  let service: ServiceProcess;

  beforeAll(async () => {
    service = await ServiceProcess.start(folder, { WORKERS: '2', COOKIES_CAPACITY: '1000000' });
  });

  afterAll(async () => {
    await service.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('loses no request and nothing acknowledged while its workers are replaced on SIGHUP', async () => {
    const before = workersOf(service);
    const load = startWriters(service, ledger, CLIENTS);
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
    await load.end();
    expect(ledger.answered(/ (5\d\d|unknown)/)).toBe(0);
    expectKeptIn(await contentsOf(folder), ledger);
    const after = workersOf(service);
    expect(after).toHaveLength(2);
    expect(after.filter((worker) => before.includes(worker))).toEqual([]);
    expect(service.child.exitCode).toBe(null);
  });

  it('finishes every request that it has begun on SIGTERM, and exits with 0', async () => {
    const before = ledger.acknowledged.size;
    const load = writeUntil(AbortSignal.timeout(60_000), service, ledger, CLIENTS);
    await until(
      () => ledger.acknowledged.size > before + 100,
      () => 'the load writes',
    );
    const code = service.end();
    expect(await load).toBe(CLIENTS);
    expect(await code).toBe(0);
    expect(ledger.answered(/ (5\d\d|unknown)/)).toBe(0);
    expectKeptIn(await contentsOf(folder), ledger);
    if (!service.child.stdout!.readableEnded) await once(service.child.stdout!, 'end');
    const lines = service.output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.at(-1)).toMatchObject({ msg: 'Stopped', context: 'Service' });
    expect(lines.filter(({ route }) => route !== undefined)).toHaveLength(ledger.answered(/./));
  });
});
