import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { collectWhenCalm } from './idle-collection.js';

const INTERVAL = 200;
const size = (): number => getHeapStatistics().total_heap_size;

describe('collectWhenCalm', () => {
  it('gives back what a burst has left, once it is calm', async () => {
    const timer = collectWhenCalm(INTERVAL);
    try {
      await sleep(2 * INTERVAL);
      const before = size();
      let burst: object[] | undefined = Array.from({ length: 3_000_000 }, (_, index) => ({ index }));
      const during = size();
      expect(during).toBeGreaterThan(1.4 * before);
      expect(burst).toHaveLength(3_000_000);
      burst = undefined;
      for (let look = 0; look < 50 && size() > 0.9 * during; look++) await sleep(INTERVAL);
      expect(size()).toBeLessThan(0.9 * during);
    } finally {
      clearInterval(timer);
    }
  });
});
