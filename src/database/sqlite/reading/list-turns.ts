import { inSameSpan } from '../../../tracing/spans.js';

/** Milliseconds of the event loop for the statements of all lists in one turn. */
const SHARE = 2;

/** Longest turn of an idle event loop, in milliseconds. */
const IDLE_TURN = 0.03;

/**
 * Limits the share of lists in the event loop: 2 ms, then the same time for other work, if there is any. A turn of the
 * event loop accepts only one connection, so without the limit each of many new connections would wait for a share.
 * Statements run in the order of their arrival, so lists take turns.
 */
export class ListTurns {
  private readonly waiting: (() => void)[] = [];
  private spent = 0;
  /** Milliseconds of other work since the last share. */
  private spentByOthers = 0;
  private turnedAt = 0;
  private turning = false;

  constructor(private readonly share = SHARE) {}

  /** Runs a statement of a list immediately while the share lasts, otherwise in a later turn, and returns its result. */
  run<T>(statement: () => T): T | Promise<T> {
    if (this.waiting.length === 0 && this.spent < this.share) return this.measured(statement);
    return new Promise<T>((resolve) => {
      const start = (): void => resolve(new Promise((done) => done(this.measured(statement))));
      this.waiting.push(inSameSpan(start));
    });
  }

  private measured<T>(statement: () => T): T {
    const started = performance.now();
    try {
      return statement();
    } finally {
      this.turnedAt = performance.now();
      this.spent += this.turnedAt - started;
      if (!this.turning) setImmediate(this.turn);
      this.turning = true;
    }
  }

  private readonly turn = (): void => {
    const now = performance.now();
    const milliseconds = now - this.turnedAt;
    this.turnedAt = now;
    this.spentByOthers += milliseconds;
    if (milliseconds > IDLE_TURN && this.spentByOthers < this.spent) return void setImmediate(this.turn);
    this.turning = false;
    this.spent = 0;
    this.spentByOthers = 0;
    while (this.waiting.length > 0 && this.spent < this.share) this.waiting.shift()!();
  };
}
