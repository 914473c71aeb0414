import { DatabaseUnavailableError } from './errors.js';

/**
 * The most that wait in one queue. Healthy queues hold some hundreds; this many could hardly be served before their deadline,
 * and each holds a request in memory. A caller beyond it is rejected immediately rather than after the whole wait.
 */
export const MOST_WAITING = 10_000;

export interface Waiter {
  readonly reject: (error: Error) => void;
}

/** First come, first served; nobody waits for ever, and never too many. One timer serves all who wait. */
export class WaitQueue<W extends Waiter> {
  private readonly waiters: W[] = [];
  /** When each of them gives up, on the clock of `performance.now()`; the first has waited longest. */
  private readonly deadlines: number[] = [];
  private timer?: NodeJS.Timeout;

  /**
   * @param timeout milliseconds after which a waiter is rejected
   * @param timeoutError what it is rejected with
   */
  constructor(
    private readonly timeout: number,
    private readonly timeoutError: () => Error,
  ) {}

  get size(): number {
    return this.waiters.length;
  }

  /** The one that has waited longest; it goes on waiting. */
  get first(): W | undefined {
    return this.waiters[0];
  }

  /** Lets `waiter` wait; rejects it when too many wait already. */
  push(waiter: W): void {
    if (this.waiters.length >= MOST_WAITING) return waiter.reject(overloaded());
    this.waiters.push(waiter);
    this.deadlines.push(performance.now() + this.timeout);
    this.timer ??= this.startTimer();
  }

  /** Takes the one that has waited longest. */
  shift(): W | undefined {
    this.deadlines.shift();
    return this.waiters.shift();
  }

  /** Takes at most `count` of those that have waited longest. */
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
  return new DatabaseUnavailableError(`Overloaded: ${MOST_WAITING} wait for the database already`);
}
