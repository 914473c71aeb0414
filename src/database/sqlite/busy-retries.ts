import { isBusy, translated } from './sqlite-errors.js';

// SQLite's own busy handler grows to 100 ms (sqliteDefaultBusyCallback); writes here are shorter.
const DELAYS = [1, 2, 5, 10, 15, 20, 25];

/** Milliseconds to wait after this many attempts that met the lock of another process. */
export function retryDelay(attempts: number): number {
  return DELAYS[Math.min(attempts, DELAYS.length - 1)]!;
}

/**
 * Repeats `attempt` while the database file is locked. The event loop runs between attempts.
 * @param timeout in milliseconds
 * @throws {DatabaseUnavailableError} when the file is still locked after that
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
