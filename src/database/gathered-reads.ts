/** The most keys of one statement. */
const LARGEST = 500;

/** Statements on their way at once: while both are, what arrives is gathered for the next. */
const MOST_ON_THE_WAY = 2;

interface Wanted<Value> {
  found(value: Value | undefined): void;
  failed(error: unknown): void;
}

/**
 * Reads by key that wait together share one statement, where each would be a round trip of its own to a server. A statement is
 * sent after everybody whom it answers has asked, so nobody reads a state older than the question.
 */
export class GatheredReads<Value> {
  private waiting = new Map<number, Wanted<Value>[]>();
  private onTheWay = 0;
  private next?: NodeJS.Immediate;

  /** @param read the values of those keys that have one */
  constructor(private readonly read: (keys: number[]) => Promise<Map<number, Value>>) {}

  /** @throws what the statement has failed with, as everybody does who shared it */
  find(key: number): Promise<Value | undefined> {
    return new Promise((found, failed) => {
      const others = this.waiting.get(key);
      if (others === undefined) this.waiting.set(key, [{ found, failed }]);
      else others.push({ found, failed });
      this.sendSoon();
    });
  }

  /** Not at once: what arrived together is handled one after the other. */
  private sendSoon(): void {
    if (this.onTheWay < MOST_ON_THE_WAY) this.next ??= setImmediate(() => this.send());
  }

  private send(): void {
    this.next = undefined;
    const sent = [...this.waiting].slice(0, LARGEST);
    for (const [key] of sent) this.waiting.delete(key);
    this.onTheWay++;
    this.read(sent.map(([key]) => key))
      .then(
        (values) => sent.forEach(([key, all]) => all.forEach((one) => one.found(values.get(key)))),
        (error: unknown) => sent.forEach(([, all]) => all.forEach((one) => one.failed(error))),
      )
      .finally(() => {
        this.onTheWay--;
        if (this.waiting.size > 0) this.sendSoon();
      });
  }
}
