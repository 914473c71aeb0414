import { DatabaseUnavailableError } from './errors.js';

/** Maximum number of waiters of one queue; healthy ones hold some hundreds. Others would hardly be served in time. */
export const MOST_WAITING = 10_000;

export function tooManyWaiting(): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`Overloaded: ${MOST_WAITING} callers wait already`);
}

export interface Waiter {
  readonly reject: (error: Error) => void;
}

/** A queue in order of arrival, with a time-out and a limited length. */
export class WaitQueue<W extends Waiter> {
  private readonly waiters: W[] = [];
  /** The timers of the waiters. As all take equally long, they end in order of arrival. */
  private readonly timers: NodeJS.Timeout[] = [];

  /** Rejects a waiter with `timeoutError()` after `timeout` milliseconds. */
  constructor(
    private readonly timeout: number,
    private readonly timeoutError: () => Error,
  ) {}

  get size(): number {
    return this.waiters.length;
  }

  get first(): W | undefined {
    return this.waiters[0];
  }

  /** Adds a waiter, or rejects it if the queue is full. */
  push(waiter: W): void {
    if (this.size >= MOST_WAITING) return waiter.reject(tooManyWaiting());
    this.waiters.push(waiter);
    this.timers.push(setTimeout(() => this.shift()?.reject(this.timeoutError()), this.timeout).unref());
  }

  shift(): W | undefined {
    clearTimeout(this.timers.shift());
    return this.waiters.shift();
  }

  /** Removes up to `count` waiters that have waited longest. */
  take(count: number): W[] {
    this.timers.splice(0, count).forEach(clearTimeout);
    return this.waiters.splice(0, count);
  }
}
