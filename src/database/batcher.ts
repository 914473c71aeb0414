import type { Span } from '@opentelemetry/api';
import { inSameSpan, inSpan } from '../tracing/spans.js';
import { type BatchEvent, batches } from './database-events.js';
import { DatabaseUnavailableError } from './errors.js';
import { type Waiter, WaitQueue } from './wait-queue.js';

/** Maximum number of batches in flight. Meanwhile, further items wait for the next batch. */
const MOST_IN_FLIGHT = 2;

/** Milliseconds after which a batch is sent although each turn of the event loop brings an item. */
const LONGEST_COLLECTION = 20;

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
  /** Whether an item was requested since the last turn of the event loop. */
  private hasNewItem = false;

  /** @param run returns a result for each item, in order; an `Error` rejects its item, and an exception all items */
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
        this.hasNewItem = true;
        this.sendSoon();
      });
    });
  }

  private sendSoon(): void {
    if (this.inFlight < MOST_IN_FLIGHT) this.next ??= setImmediate(() => this.endTurn());
  }

  /** Waits for a turn without a new item: Node accepts one connection each turn, and reads it in the next. */
  private endTurn(): void {
    this.next = undefined;
    const { hasNewItem, waiting, options } = this;
    this.hasNewItem = false;
    const isFull = waiting.size >= options.maxBatchSize;
    const waited = performance.now() - (waiting.first?.startedAt ?? 0);
    if (!hasNewItem || isFull || waited > LONGEST_COLLECTION) void this.send();
    else this.sendSoon();
  }

  private async send(): Promise<void> {
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
