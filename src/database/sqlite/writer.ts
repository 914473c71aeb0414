import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailableError } from '../errors.js';
import type { Connection } from './connection.js';
import { isBusy, translateSqliteError } from './sqlite-errors.js';

export interface WriterLimits {
  /** Milliseconds to wait for a turn, and for the lock of another process, before giving up. */
  readonly busyTimeout: number;
  /** Milliseconds a turn may last. */
  readonly transactionTimeout: number;
}

/** The right to use the writing connection, alone, until `end` is called. */
export interface Turn {
  readonly connection: Connection;
  /** Ends the turn. Only its first call counts. */
  readonly end: () => void;
}

interface Waiter {
  admit(turn: Turn): void;
}

const OWN_TRANSACTION = 'Inside a transaction, write through its own manager: another one waits for it to end.';

// SQLite's own busy handler starts at 1 ms and levels off at 100 ms (sqliteDefaultBusyCallback); writes here are short.
const RETRY_DELAYS = [1, 2, 5, 10, 15, 20, 25];

/**
 * The one connection that writes. SQLite has one writer at a time, and a transaction spans several awaits, so whoever
 * writes waits here for a turn, first come first served. This is the place where writes that wait together can come to
 * share a commit.
 */
export class Writer {
  private readonly waiting: Waiter[] = [];
  private busy = false;
  private closing = false;
  private onIdle?: () => void;

  constructor(
    private readonly connection: Connection,
    private readonly limits: WriterLimits,
  ) {}

  /**
   * Waits for a turn.
   * @throws {DatabaseUnavailableError} after the busy time-out, or when the database is closing
   */
  turn(): Promise<Turn> {
    if (this.closing) return Promise.reject(new DatabaseUnavailableError('The database is closing'));
    if (!this.busy) {
      this.busy = true;
      return Promise.resolve(this.newTurn());
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: (turn) => {
          clearTimeout(timer);
          resolve(turn);
        },
      };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        reject(
          new DatabaseUnavailableError(`No turn to write within ${this.limits.busyTimeout} ms. ${OWN_TRANSACTION}`),
        );
      }, this.limits.busyTimeout);
      this.waiting.push(waiter);
    });
  }

  /** Gives no more turns, and resolves when those who have or await one are through. The transaction time-out bounds it. */
  async close(): Promise<void> {
    this.closing = true;
    if (this.busy) await new Promise<void>((resolve) => (this.onIdle = resolve));
  }

  private newTurn(): Turn {
    let ended = false;
    return {
      connection: this.connection,
      end: () => {
        if (ended) return;
        ended = true;
        const next = this.waiting.shift();
        if (next !== undefined) return next.admit(this.newTurn());
        this.busy = false;
        this.onIdle?.();
      },
    };
  }
}

/**
 * Repeats `attempt` while the database file is locked, giving the event loop back in between.
 * @param timeout in milliseconds
 * @throws {DatabaseUnavailableError} when it is still locked by then
 */
export async function retryWhileBusy<T>(attempt: () => T, timeout: number): Promise<T> {
  const deadline = performance.now() + timeout;
  for (let tries = 0; ; tries++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= deadline) throw translateSqliteError(error) ?? error;
      await sleep(RETRY_DELAYS[Math.min(tries, RETRY_DELAYS.length - 1)]);
    }
  }
}
