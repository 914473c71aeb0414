import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until a condition holds.
 * @param what describes the condition in the error after `timeout` milliseconds
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string),
  timeout = 30_000,
): Promise<void> {
  for (const deadline = performance.now() + timeout; !(await condition()); await sleep(10)) {
    if (performance.now() > deadline) {
      throw new Error(`Not within ${timeout} ms: ${typeof what === 'string' ? what : what()}`);
    }
  }
}
