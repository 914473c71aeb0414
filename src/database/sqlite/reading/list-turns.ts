/** Milliseconds for which the statements of all lists together may hold the event loop before it turns. */
const SHARE = 2;

/** Milliseconds that a turn of the event loop takes at most when it has nothing to do. */
const IDLE_TURN = 0.03;

interface Waiting {
  readonly list: ListStatements;
  readonly start: () => void;
}

/**
 * Lets statements of lists have a share of the event loop: 2 ms, and then as long for everything else, unless there is nothing
 * else to do. A turn of the event loop accepts one connection only; those of a crowd would wait for as many shares otherwise.
 *
 * The list that has taken the least time so far and the statement that has waited longest go next in alternation: a short page
 * does not wait for the long lists that were there before it, and these go on however many short ones arrive.
 */
export class ListTurns {
  private readonly waiting: Waiting[] = [];
  private spent = 0;
  /** What everything else has had since. */
  private spentByOthers = 0;
  private turnedAt = 0;
  private turning = false;
  private isOldestNext = false;

  constructor(private readonly share = SHARE) {}

  /** For the statements of a list that is to be read now. */
  list(): ListStatements {
    return new ListStatements(this);
  }

  /** Runs `statement` immediately while the share of this turn lasts, else in a later turn; resolves or rejects with it. */
  run<T>(list: ListStatements, statement: () => T): T | Promise<T> {
    if (this.waiting.length === 0 && this.spent < this.share) return this.measured(list, statement);
    return new Promise<T>((resolve) => {
      const start = (): void => resolve(new Promise((done) => done(this.measured(list, statement))));
      this.waiting.push({ list, start });
    });
  }

  private measured<T>(list: ListStatements, statement: () => T): T {
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
    while (this.waiting.length > 0 && this.spent < this.share) this.next().start();
  };

  private next(): Waiting {
    this.isOldestNext = !this.isOldestNext;
    return this.waiting.splice(this.isOldestNext ? 0 : this.indexOfShortest(), 1)[0]!;
  }

  private indexOfShortest(): number {
    let shortest = 0;
    this.waiting.forEach(({ list }, index) => {
      if (list.spent < this.waiting[shortest]!.list.spent) shortest = index;
    });
    return shortest;
  }
}

/** The statements of one list, and the milliseconds that they have taken. */
export class ListStatements {
  spent = 0;

  constructor(private readonly turns: ListTurns) {}

  /** Runs `statement` when it is its turn; see `ListTurns`. */
  run<T>(statement: () => T): T | Promise<T> {
    return this.turns.run(this, statement);
  }
}
