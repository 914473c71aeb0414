import { DatabaseUnavailableError } from './errors.js';
import { type Waiter, WaitQueue } from './wait-queue.js';

/** The most batches in flight; while they are, items wait for the next one. */
const MOST_IN_FLIGHT = 2;

interface Pending<Item, Result> extends Waiter {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
}

export interface BatcherOptions {
  /** The most items of a batch. */
  readonly maxBatchSize: number;
  /** Milliseconds an item may wait until its batch is sent. */
  readonly timeout: number;
}

/**
 * Loads items that are wanted at the same time together, in one statement or transaction, where each would be a round trip
 * or a commit of its own. A batch is sent after all of its items were asked for: nobody reads a state older than the request.
 */
export class Batcher<Item, Result> {
  private readonly waiting: WaitQueue<Pending<Item, Result>>;
  private readonly maxBatchSize: number;
  private inFlight = 0;
  private next?: NodeJS.Immediate;

  /** @param run gives a result for each item, in their order; an `Error` rejects that one alone, what it throws rejects all */
  constructor(
    private readonly run: (items: Item[]) => Promise<(Result | Error)[]>,
    { maxBatchSize, timeout }: BatcherOptions,
  ) {
    this.maxBatchSize = maxBatchSize;
    this.waiting = new WaitQueue(
      timeout,
      () => new DatabaseUnavailableError(`The database took no further batch within ${timeout} ms`),
    );
  }

  /** @throws {DatabaseUnavailableError} when the batch was not sent in time, or too many items wait already */
  load(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.sendSoon();
    });
  }

  /** Not immediately: requests that arrived together are handled one after the other. */
  private sendSoon(): void {
    if (this.inFlight < MOST_IN_FLIGHT) this.next ??= setImmediate(() => void this.send());
  }

  private async send(): Promise<void> {
    this.next = undefined;
    const batch = this.waiting.take(this.maxBatchSize);
    if (batch.length === 0) return;
    this.inFlight++;
    if (this.waiting.size > 0) this.sendSoon();
    try {
      const results = await this.run(batch.map(({ item }) => item));
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index];
        if (result instanceof Error) reject(result);
        else resolve(result as Result);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error as Error);
    } finally {
      this.inFlight--;
      if (this.waiting.size > 0) this.sendSoon();
    }
  }
}
