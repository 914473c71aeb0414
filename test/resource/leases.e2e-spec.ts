import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Config } from '../../src/config/config.js';
import { createDataSource } from '../../src/database/data-source.js';
import type { Sql } from '../../src/database/engine.js';
import { Leases, type SharedWork } from '../../src/resource/leases.js';
import { engineInUse } from '../support/engine.js';
import { COOKIE, sharedService } from '../support/service.js';

const HOUR = 3_600_000;
const DIED = new Error('The process has died');

describe(`a lease (${engineInUse()})`, () => {
  let others: DataSource[];
  afterAll(async () => {
    for (const other of others) await other.destroy();
  });
  const { service, client } = sharedService({ LOG_LEVEL: 'silent' });
  let dataSource: DataSource;
  let processes: Leases[];
  let works = 0;

  beforeAll(async () => {
    const config = service.app.get(Config, { strict: false });
    dataSource = service.app.get(DataSource);
    await dataSource.query('CREATE TABLE batches (name varchar NOT NULL, runner integer NOT NULL)');
    others = await Promise.all([0, 1, 2].map(async () => (await createDataSource(config)).initialize()));
    processes = [dataSource, ...others].map((each) => new Leases(each));
  });

  /** Work with this number of batches, each of which stores the number of the process that runs it. */
  const workOf = (batches: number, options: Partial<SharedWork> = {}) => {
    const name = `work-${++works}`;
    const runBy = (runner: number, before?: (done: number) => void): SharedWork => ({
      name,
      every: HOUR,
      ...options,
      async batch(transaction: Sql) {
        const [{ done }] = await transaction.sql<[{ done: number }]>`
          SELECT count(*) AS done FROM batches WHERE name = ${name}`;
        before?.(Number(done));
        await transaction.sql`INSERT INTO batches (name, runner) VALUES (${name}, ${runner})`;
        return Number(done) + 1 < batches;
      },
    });
    const runners = async (): Promise<number[]> => {
      const rows: { runner: number }[] = await dataSource.query(`SELECT runner FROM batches WHERE name = '${name}'`);
      return rows.map(({ runner }) => runner);
    };
    return { runBy, runners };
  };

  /** The work with batches that take some milliseconds longer. */
  const slowly = (work: SharedWork, milliseconds: number): SharedWork => ({
    ...work,
    batch: (transaction) => work.batch(transaction).finally(() => delay(milliseconds)),
  });

  /** Lets the second process try until it has done the work. */
  async function untilDone(work: SharedWork): Promise<void> {
    for (let tries = 0; tries < 1000; tries++) {
      if (await processes[1]!.run(work)) return;
      await delay(5);
    }
    throw new Error('The work has not been done');
  }

  it('lets one of several processes do the work, and none again before it is due', async () => {
    const { runBy, runners } = workOf(5);
    const results = await Promise.all(
      processes.flatMap((leases, index) => [leases, leases].map((one) => one.run(runBy(index)))),
    );
    expect(results.filter((isDone) => isDone)).toHaveLength(1);
    expect(await runners()).toHaveLength(5);
    expect(new Set(await runners()).size).toBe(1);
    for (const leases of processes) expect(await leases.run(runBy(9))).toBe(false);
    expect(await runners()).toHaveLength(5);
  });

  it('makes the work due again after its interval, counted from its beginning', async () => {
    const { runBy, runners } = workOf(1, { every: 400 });
    const started = performance.now();
    expect(await processes[0]!.run(runBy(0))).toBe(true);
    await untilDone(runBy(1));
    expect(performance.now() - started).toBeGreaterThan(390);
    expect(await runners()).toEqual([0, 1]);
  });

  it('makes the work due when the clock was years ahead at its last run, and not in its interval', async () => {
    const { runBy, runners } = workOf(1);
    const work = runBy(0);
    const moveEnd = (milliseconds: number) =>
      dataSource.query(`UPDATE leases SET expires = expires + ${milliseconds} WHERE name = '${work.name}'`);
    expect(await processes[0]!.run(work)).toBe(true);
    await moveEnd(HOUR / 2);
    expect(await processes[0]!.run(work)).toBe(false);
    await moveEnd(24 * 365 * HOUR);
    expect(await processes[1]!.run(runBy(1))).toBe(true);
    expect(await runners()).toEqual([0, 1]);
  });

  it('replaces a dead holder after the lease, not earlier, and continues its work', async () => {
    const { runBy, runners } = workOf(4, { lease: 600 });
    const dies = runBy(0, (done) => {
      if (done === 2) throw DIED;
    });
    const started = performance.now();
    await expect(processes[0]!.run(dies)).rejects.toBe(DIED);
    expect(await processes[1]!.run(runBy(1))).toBe(false);
    await untilDone(runBy(1));
    expect(performance.now() - started).toBeGreaterThan(590);
    expect(await runners()).toEqual([0, 0, 1, 1]);
  });

  it('rejects all changes of a process that was blocked longer than its lease', async () => {
    const { runBy, runners } = workOf(3, { lease: 1200 });
    // The second process starts when the batch has begun, because otherwise it could take the lease first.
    let isHeld = false;
    const work = runBy(0, () => (isHeld = true));
    const first = processes[0]!.run(slowly(work, 1400));
    while (!isHeld) await delay(5);
    await untilDone(runBy(1));
    expect(await first).toBe(false);
    expect(await runners()).toEqual([0, 1, 1]);
  });

  it('ends with the service after the running batch, and another process continues immediately', async () => {
    const { runBy, runners } = workOf(50);
    const stopped = new Leases(dataSource);
    const run = stopped.run(slowly(runBy(0), 10));
    while ((await runners()).length < 2) await delay(5);
    await stopped.onModuleDestroy();
    expect(await run).toBe(false);
    const before = (await runners()).length;
    expect(before).toBeLessThan(50);
    expect(await stopped.run(runBy(0))).toBe(false);
    expect(await processes[1]!.run(runBy(1))).toBe(true);
    expect(await runners()).toEqual(Array.from({ length: 50 }, (_, index) => (index < before ? 0 : 1)));
  });

  it('calls the work of each minute immediately, reports its error, and waits for it when the service ends', async () => {
    const leases = new Leases(dataSource);
    const errors: Error[] = [];
    leases.everyMinute(
      () => Promise.reject(DIED),
      (error) => errors.push(error),
    );
    let isDone = false;
    const untilAborted = async (signal: AbortSignal): Promise<void> => {
      await once(signal, 'abort');
      await delay(20);
      isDone = true;
    };
    leases.everyMinute(untilAborted, () => {});
    await leases.onModuleDestroy();
    expect([errors, isDone]).toEqual([[DIED], true]);
  });

  it('lets requests write between two batches', async () => {
    const { runBy } = workOf(20);
    let isDone = false;
    const run = processes[0]!.run(slowly(runBy(0), 20));
    void run.then(() => (isDone = true));
    let written = 0;
    while (!isDone && written < 1000) {
      expect((await client.post(COOKIE)).status).toBe(201);
      written++;
    }
    expect(await run).toBe(true);
    expect(written).toBeGreaterThan(10);
  });
});
