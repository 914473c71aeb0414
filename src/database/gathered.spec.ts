import { setImmediate as turn } from 'node:timers/promises';
import { Gathered } from './gathered.js';

describe('what is gathered', () => {
  it('is asked for once, and everybody who waits has an answer of his own', async () => {
    const batches: number[][] = [];
    const squares = new Gathered<number, number | undefined>((items) => {
      batches.push(items);
      return Promise.resolve(items.map((item) => (item < 3 ? item * item : undefined)));
    }, 500);
    expect(await Promise.all([1, 2, 1, 3].map((item) => squares.ask(item)))).toEqual([1, 4, 1, undefined]);
    expect(batches).toEqual([[1, 2, 1, 3]]);
  });

  it('is asked for again while it is on its way, since it may have changed', async () => {
    const pending: ((answers: number[]) => void)[] = [];
    const reads = new Gathered<number, number>(() => new Promise((resolve) => pending.push(resolve)), 500);
    const first = reads.ask(1);
    await turn();
    const second = reads.ask(1);
    await turn();
    pending[0]!([10]);
    pending[1]!([20]);
    expect([await first, await second]).toEqual([10, 20]);
  });

  it('fails one by one with an error for each', async () => {
    const odd = new Gathered<number, number>(
      (items) => Promise.resolve(items.map((item) => (item % 2 === 1 ? item : new Error(`${item} is even`)))),
      500,
    );
    const outcomes = await Promise.allSettled([odd.ask(1), odd.ask(2), odd.ask(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails as a whole when the question itself fails, and goes on', async () => {
    let failing = true;
    const reads = new Gathered<number, number>(
      (items) => (failing ? Promise.reject(new Error('down')) : Promise.resolve(items)),
      500,
    );
    const outcomes = await Promise.allSettled([reads.ask(1), reads.ask(2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    failing = false;
    expect(await reads.ask(1)).toBe(1);
  });

  it('goes in batches of a bounded size, two at a time', async () => {
    const sizes: number[] = [];
    let onTheWay = 0;
    let most = 0;
    const reads = new Gathered<number, number>(async (items) => {
      sizes.push(items.length);
      most = Math.max(most, ++onTheWay);
      await turn();
      onTheWay--;
      return items;
    }, 500);
    const items = Array.from({ length: 1801 }, (_, item) => item);
    expect(await Promise.all(items.map((item) => reads.ask(item)))).toEqual(items);
    expect(sizes).toEqual([500, 500, 500, 301]);
    expect(most).toBe(2);
  });
});
