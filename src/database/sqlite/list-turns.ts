/** Milliseconds for which the statements of all lists together may hold the event loop before it turns. */
const SHARE = 2;

/**
 * Lets statements of lists have a share of each turn of the event loop, first come first served. However many lists are
 * read at once, requests that arrive meanwhile wait for the share, and for the one statement that exceeds it, and not for all.
 */
export class ListTurns {
  private readonly waiting: (() => void)[] = [];
  private spent = 0;
  private turning = false;

  constructor(private readonly share = SHARE) {}

  /** Runs `statement` immediately while the share of this turn lasts, else in a later turn; resolves or rejects with it. */
  run<T>(statement: () => T): T | Promise<T> {
    if (this.waiting.length === 0 && this.spent < this.share) return this.measured(statement);
    return new Promise<T>((resolve) => {
      this.waiting.push(() => resolve(new Promise((done) => done(this.measured(statement)))));
    });
  }

  private measured<T>(statement: () => T): T {
    const started = performance.now();
    try {
      return statement();
    } finally {
      this.spent += performance.now() - started;
      this.turnSoon();
    }
  }

  private turnSoon(): void {
    if (this.turning) return;
    this.turning = true;
    setImmediate(() => {
      this.turning = false;
      this.spent = 0;
      while (this.waiting.length > 0 && this.spent < this.share) this.waiting.shift()!();
    });
  }
}
