import type { Span } from '@opentelemetry/api';
import { inSameSpan, inSpan } from '../tracing/spans.js';
import { type BatchEvent, batches } from './database-events.js';
import { DatabaseUnavailableError } from './errors.js';
import { type Waiter, WaitQueue } from './wait-queue.js';

interface Pending<Item, Result> extends Waiter {
  readonly item: Item;
  /** Time of the request, on the clock of `performance.now()`. */
  readonly startedAt: number;
  readonly resolve: (result: Result) => void;
  /** The span of a traced item, from its request until its result. */
  readonly span?: Span;
  /** Runs a batch below the span. */
  readonly run: RunBatch<Item, Result>;
}

type RunBatch<Item, Result> = (items: Item[]) => Promise<(Result | Error)[]>;

interface BatcherOptions {
  readonly kind: BatchEvent['kind'];
  readonly maxBatchSize: number;
  /** Maximum number of batches in flight. Meanwhile, further items wait for the next batch. */
  readonly mostInFlight: number;
  /** Milliseconds an item may wait until its batch is sent. */
  readonly timeout: number;
}

/**
 * Collects items that are requested at the same time, to save round trips and commits. A batch is sent after its last
 * item was requested, so no caller reads a state older than its request.
 */
export class Batcher<Item, Result> {
  private readonly waiting: WaitQueue<Pending<Item, Result>>;
  private inFlight = 0;
  private next?: NodeJS.Immediate;

  /**
   * @param run returns a result for each item, in order. An `Error` rejects its item alone; an exception rejects all
   * items.
   */
  constructor(
    private readonly run: RunBatch<Item, Result>,
    private readonly options: BatcherOptions,
  ) {
    const { timeout } = options;
    const message = `The database took no further batch within ${timeout} ms`;
    this.waiting = new WaitQueue(timeout, () => new DatabaseUnavailableError(message));
  }

  /** @throws {DatabaseUnavailableError} when the batch was not sent in time, or too many items wait already */
  load(item: Item): Promise<Result> {
    return inSpan('batch', (span) => {
      const run = inSameSpan(this.run);
      return new Promise((resolve, reject) => {
        this.waiting.push({ item, startedAt: performance.now(), resolve, reject, span, run });
        this.sendSoon();
      });
    });
  }

  /** Waits for one turn of the event loop, in which requests that arrive together are handled. */
  private sendSoon(): void {
    if (this.inFlight < this.options.mostInFlight) this.next ??= setImmediate(() => void this.send());
  }

  private async send(): Promise<void> {
    this.next = undefined;
    const { kind, maxBatchSize } = this.options;
    const batch = this.waiting.take(maxBatchSize);
    if (batch.length === 0) return;
    const waitMilliseconds = performance.now() - batch[0]!.startedAt;
    batches.publish({ kind, size: batch.length, waitMilliseconds } satisfies BatchEvent);
    this.inFlight++;
    if (this.waiting.size > 0) this.sendSoon();
    try {
      const results = await leaderOf(batch).run(batch.map(({ item }) => item));
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

/** Describes a batch in the spans of its items. Its statements are below the first span, to which the others link. */
function leaderOf<Item, Result>(batch: readonly Pending<Item, Result>[]): Pending<Item, Result> {
  const leader = batch.find(({ span }) => span !== undefined) ?? batch[0]!;
  for (const { span, startedAt } of batch) {
    span?.setAttributes({ 'batch.size': batch.length, 'batch.wait_ms': performance.now() - startedAt });
    if (span !== leader.span) span?.addLink({ context: leader.span!.spanContext() });
  }
  return leader;
}
