import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds between two looks, for which the service must have been calm. */
const INTERVAL = 10_000;

/** The share of its time that a calm service is at work, disk flushes included. */
const CALM = 0.05;

/** How much larger than it ever was in calm the heap must be. */
const GROWTH = 1.4;

/**
 * Collects garbage when a burst is over. V8 collects for those who allocate: a service that is calm after a burst would keep the
 * memory of the burst for hours. A collection takes about 0.1 s, so it waits for calm and for something to give back; after one
 * that gave nothing back, twice as long each time.
 */
export function collectWhenCalm(interval = INTERVAL): NodeJS.Timeout {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let last = performance.eventLoopUtilization();
  let smallest = Infinity;
  let looksToSkip = 0;
  let fruitless = 0;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    const before = heapSize();
    smallest = Math.min(smallest, before);
    looksToSkip -= 1;
    if (looksToSkip >= 0 || utilization > CALM || before <= GROWTH * smallest) return;
    collect();
    // V8 gives the space of young objects back with the second collection in a row.
    fruitless = heapSize() < 0.9 * before ? 0 : fruitless + 1;
    looksToSkip = fruitless === 0 ? 0 : 2 ** (fruitless - 1);
  };
  return setInterval(look, interval).unref();
}

function heapSize(): number {
  return getHeapStatistics().total_heap_size;
}
