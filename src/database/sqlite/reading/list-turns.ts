import { inSameSpan } from '../../../tracing/spans.js';

/** Milliseconds that the statements of all lists together may take before other work gets its turn. */
const SHARE = 2;

/** Longest turn of an idle event loop, in milliseconds. */
const IDLE_TURN = 0.03;

/** A list. `spent` is the time of its statements in milliseconds. */
interface List {
  spent: number;
}

export type RunStatement = <T>(statement: () => T) => T | Promise<T>;

/**
 * Limits the share of lists in the event loop: 2 ms, then the same time for other work, if there is any. The list that
 * has taken the least time and the one that has waited longest take turns, so neither short nor long lists starve.
 */
export class ListTurns {
  private readonly waiting: { readonly list: List; readonly start: () => void }[] = [];
  private spent = 0;
  /** Milliseconds of other work since the last share. */
  private spentByOthers = 0;
  private turnedAt = 0;
  private turning = false;
  private isOldestNext = false;

  /** Returns a function for the statements of one list. It runs each while the share lasts, or in a later turn. */
  list(): RunStatement {
    const list: List = { spent: 0 };
    return <T>(statement: () => T): T | Promise<T> => {
      if (this.spent < SHARE) return this.measured(list, statement);
      return new Promise<T>((resolve) => {
        const start = (): void => resolve(new Promise((done) => done(this.measured(list, statement))));
        this.waiting.push({ list, start: inSameSpan(start) });
      });
    };
  }

  private measured<T>(list: List, statement: () => T): T {
    const started = performance.now();
    try {
      return statement();
    } finally {
      this.turnedAt = performance.now();
      const milliseconds = this.turnedAt - started;
      list.spent += milliseconds;
      this.spent += milliseconds;
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
    while (this.waiting.length > 0 && this.spent < SHARE) this.startNext();
  };

  private startNext(): void {
    this.isOldestNext = !this.isOldestNext;
    const spent = this.waiting.map(({ list }) => list.spent);
    const index = this.isOldestNext ? 0 : spent.indexOf(Math.min(...spent));
    this.waiting.splice(index, 1)[0]?.start();
  }
}
