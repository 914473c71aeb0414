import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds between two looks, for which the service must have been calm. */
const INTERVAL = 10_000;

/** The share of its time that a calm service is at work, disk flushes included. */
const CALM = 0.4;

/** How much larger than after the last collection the heap must be. */
const GROWTH = 1.4;

/**
 * Collects garbage when a burst is over. V8 collects for those who allocate: a service that is calm after a burst would keep the
 * memory of the burst for hours. A collection takes about 0.1 s, so it waits for calm and for something to give back.
 */
export function collectWhenCalm(interval = INTERVAL): NodeJS.Timeout {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let last = performance.eventLoopUtilization();
  let size = Infinity;
  let isGivingBack = false;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    const { total_heap_size: before } = getHeapStatistics();
    if (utilization > CALM || (!isGivingBack && before <= GROWTH * size)) {
      size = Math.min(size, before);
      return;
    }
    collect();
    size = getHeapStatistics().total_heap_size;
    // V8 gives the space of young objects back with the second collection.
    isGivingBack = size < 0.9 * before;
  };
  return setInterval(look, interval).unref();
}
