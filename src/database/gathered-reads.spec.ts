import { setImmediate as turn } from 'node:timers/promises';
import { GatheredReads } from './gathered-reads.js';

describe('gathered reads', () => {
  it('answer everybody who waits with one statement, each with its own value or none', async () => {
    const statements: number[][] = [];
    const reads = new GatheredReads<string>((keys) => {
      statements.push(keys);
      return Promise.resolve(new Map(keys.filter((key) => key < 3).map((key) => [key, `value ${key}`])));
    });
    expect(await Promise.all([1, 2, 1, 3].map((key) => reads.find(key)))).toEqual([
      'value 1',
      'value 2',
      'value 1',
      undefined,
    ]);
    expect(statements).toEqual([[1, 2, 3]]);
  });

  it('ask again for a key that is on its way already, since it may have changed', async () => {
    const pending: ((values: Map<number, number>) => void)[] = [];
    const reads = new GatheredReads<number>(() => new Promise((resolve) => pending.push(resolve)));
    const first = reads.find(1);
    await turn();
    const second = reads.find(1);
    await turn();
    pending[0]!(new Map([[1, 10]]));
    pending[1]!(new Map([[1, 20]]));
    expect([await first, await second]).toEqual([10, 20]);
  });

  it('fail together with their statement, and go on', async () => {
    let failing = true;
    const reads = new GatheredReads<number>((keys) =>
      failing ? Promise.reject(new Error('down')) : Promise.resolve(new Map(keys.map((key) => [key, key]))),
    );
    const outcomes = await Promise.allSettled([reads.find(1), reads.find(2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    failing = false;
    expect(await reads.find(1)).toBe(1);
  });

  it('hold no more than 500 keys in a statement, and two statements at a time', async () => {
    const sizes: number[] = [];
    let onTheWay = 0;
    let most = 0;
    const reads = new GatheredReads<number>(async (keys) => {
      sizes.push(keys.length);
      most = Math.max(most, ++onTheWay);
      await turn();
      onTheWay--;
      return new Map(keys.map((key) => [key, key]));
    });
    const keys = Array.from({ length: 1801 }, (_, key) => key);
    expect(await Promise.all(keys.map((key) => reads.find(key)))).toEqual(keys);
    expect(sizes).toEqual([500, 500, 500, 301]);
    expect(most).toBeLessThanOrEqual(2);
  });
});
