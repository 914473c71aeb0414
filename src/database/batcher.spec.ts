import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Batcher } from './batcher.js';
import { DatabaseUnavailableError } from './errors.js';

const OPTIONS = { kind: 'read', maxBatchSize: 500, timeout: 5000 } as const;

describe('a batcher', () => {
  it('loads items together, each with its own result', async () => {
    const batches: number[][] = [];
    const squares = new Batcher<number, number | undefined>((items) => {
      batches.push(items);
      return Promise.resolve(items.map((item) => (item < 3 ? item * item : undefined)));
    }, OPTIONS);
    expect(await Promise.all([1, 2, 1, 3].map((item) => squares.load(item)))).toEqual([1, 4, 1, undefined]);
    expect(batches).toEqual([[1, 2, 1, 3]]);
  });

  it('loads items together that come one turn of the event loop after the other, for at most 20 ms', async () => {
    let sizes: number[] = [];
    const run = (items: number[]): Promise<number[]> => {
      sizes.push(items.length);
      return Promise.resolve(items);
    };
    // No batch ends because it is full.
    const reads = new Batcher<number, number>(run, { ...OPTIONS, maxBatchSize: Infinity });
    // On a loaded machine, these turns may once take longer than 20 ms.
    for (let attempts = 0; attempts < 20 && sizes[0] !== 5; attempts++) {
      sizes = [];
      const loads: Promise<number>[] = [];
      for (let item = 0; item < 5; item++) {
        loads.push(reads.load(item));
        await turn();
      }
      await Promise.all(loads);
    }
    expect(sizes).toEqual([5]);
    const first = reads.load(0);
    let isLoaded = false;
    void first.then(() => (isLoaded = true));
    for (const until = performance.now() + 2000; !isLoaded && performance.now() < until; await turn()) {
      reads.load(1).catch(() => undefined);
    }
    expect(isLoaded).toBe(true);
  });

  it('loads an item again while it is in flight, since it may have changed', async () => {
    const pending: ((results: number[]) => void)[] = [];
    const reads = new Batcher<number, number>(() => new Promise((resolve) => pending.push(resolve)), OPTIONS);
    const first = reads.load(1);
    while (pending.length < 1) await turn();
    const second = reads.load(1);
    while (pending.length < 2) await turn();
    pending[0]!([10]);
    pending[1]!([20]);
    expect([await first, await second]).toEqual([10, 20]);
  });

  it('rejects a whole batch when its run throws an exception, and runs more batches than may be in flight', async () => {
    let failing = true;
    const run = (items: number[]): Promise<number[]> => {
      // An exception before there is a promise counts as a rejection.
      if (failing) throw new Error('down');
      return Promise.resolve(items);
    };
    const reads = new Batcher<number, number>(run, { ...OPTIONS, maxBatchSize: 2, timeout: 1000 });
    const outcomes = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7, 8].map((item) => reads.load(item)));
    const reasons = outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as Error).message);
    expect(reasons).toEqual(Array(8).fill('down'));
    failing = false;
    expect(await reads.load(1)).toBe(1);
  });

  it('rejects items that were not sent in time, names the milliseconds, and sends the rest when a batch is done', async () => {
    const pending: (() => void)[] = [];
    const run = (items: number[]) => new Promise<number[]>((resolve) => pending.push(() => resolve(items)));
    const reads = new Batcher<number, number>(run, { ...OPTIONS, maxBatchSize: 1, timeout: 100 });
    const sent = [reads.load(1), reads.load(2)];
    await turn();
    const began = performance.now();
    const late = reads.load(3);
    await expect(late).rejects.toThrow(DatabaseUnavailableError);
    await expect(late).rejects.toThrow('within 100 ms');
    expect(performance.now() - began).toBeLessThan(1000);
    const inTime = reads.load(4);
    pending.forEach((finish) => finish());
    expect(await Promise.all(sent)).toEqual([1, 2]);
    while (pending.length < 3) await sleep(1);
    pending[2]!();
    expect(await inTime).toBe(4);
  });
});
