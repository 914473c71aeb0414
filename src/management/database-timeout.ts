import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds that a probe or a scrape waits for the database; their clients have short time-outs themselves. */
export const DATABASE_TIMEOUT = 2000;

/** The value of `promise`, or `late` after `DATABASE_TIMEOUT`. */
export function withinTimeout<T>(promise: Promise<T>, late: T): Promise<T> {
  // Two timers, because a long block of the event loop can use up only one of them.
  const half = (): Promise<T> => sleep(DATABASE_TIMEOUT / 2, late, { ref: false });
  return Promise.race([promise, half().then(half)]);
}

/** Shares a reading among callers, who wait as in `withinTimeout`: a silent database or drive gets only one. */
export function sharedReading<T>(read: () => Promise<T>, late: T): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read().finally(() => (reading = undefined));
    return withinTimeout(reading, late);
  };
}
