import { isBusy, translated } from './sqlite-errors.js';

// SQLite's own busy handler levels off at 100 ms (sqliteDefaultBusyCallback); writes here are short.
const DELAYS = [1, 2, 5, 10, 15, 20, 25];

/** Milliseconds to wait after a number of attempts that met a lock of another process. */
export function retryDelay(attempts: number): number {
  return DELAYS[Math.min(attempts, DELAYS.length - 1)]!;
}

/**
 * Repeats `attempt` while the database file is locked, giving the event loop back in between.
 * @param timeout in milliseconds
 * @throws {DatabaseUnavailableError} when it is still locked by then
 */
export async function retryWhileBusy<T>(attempt: () => T, timeout: number): Promise<T> {
  const deadline = performance.now() + timeout;
  for (let attempts = 0; ; attempts++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= deadline) throw translated(error);
      await new Promise((resolve) => setTimeout(resolve, retryDelay(attempts)));
    }
  }
}
