import { DatabaseUnavailableError } from './errors.js';

/**
 * Maximum number of waiters of one queue. Healthy queues hold some hundreds. Further callers are rejected immediately,
 * because they would hardly be served in time and each holds a request in memory.
 */
export const MOST_WAITING = 10_000;

export interface Waiter {
  readonly reject: (error: Error) => void;
}

/** A queue in order of arrival, with a time-out and a limited length. One timer serves all waiters. */
export class WaitQueue<W extends Waiter> {
  private readonly waiters: W[] = [];
  /** Time at which each waiter times out, on the clock of `performance.now()`, earliest first. */
  private readonly deadlines: number[] = [];
  private timer?: NodeJS.Timeout;

  /**
   * @param timeout milliseconds after which a waiter is rejected
   * @param timeoutError makes the error of a rejected waiter
   */
  constructor(
    private readonly timeout: number,
    private readonly timeoutError: () => Error,
  ) {}

  get size(): number {
    return this.waiters.length;
  }

  /** The waiter that has waited longest. It stays in the queue. */
  get first(): W | undefined {
    return this.waiters[0];
  }

  /** Adds a waiter, or rejects it if the queue is full. */
  push(waiter: W): void {
    if (this.waiters.length >= MOST_WAITING) return waiter.reject(overloaded());
    this.waiters.push(waiter);
    this.deadlines.push(performance.now() + this.timeout);
    this.timer ??= this.startTimer();
  }

  /** Removes the waiter that has waited longest. */
  shift(): W | undefined {
    this.deadlines.shift();
    return this.waiters.shift();
  }

  /** Removes up to `count` waiters that have waited longest. */
  take(count: number): W[] {
    this.deadlines.splice(0, count);
    return this.waiters.splice(0, count);
  }

  rejectAll(error: Error): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const waiter of this.take(this.size)) waiter.reject(error);
  }

  private startTimer(): NodeJS.Timeout {
    const timer = setTimeout(
      () => {
        this.timer = undefined;
        this.rejectLate();
        if (this.size > 0) this.timer = this.startTimer();
      },
      Math.max(1, this.deadlines[0]! - performance.now()),
    );
    return timer.unref();
  }

  private rejectLate(): void {
    const now = performance.now();
    const first = this.deadlines.findIndex((deadline) => deadline > now);
    const late = first < 0 ? this.size : first;
    for (const waiter of this.take(late)) waiter.reject(this.timeoutError());
  }
}

export function overloaded(): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`Overloaded: ${MOST_WAITING} callers wait for the database already`);
}
