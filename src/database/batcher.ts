import type { Span } from '@opentelemetry/api';
import { inSameSpan, inSpan } from '../tracing/spans.js';
import { type BatchEvent, batches } from './database-events.js';
import { DatabaseUnavailableError } from './errors.js';
import { type Waiter, WaitQueue } from './wait-queue.js';

/** Maximum number of batches in flight. Meanwhile, further items wait for the next batch. */
const MOST_IN_FLIGHT = 2;

interface Pending<Item, Result> extends Waiter {
  readonly item: Item;
  /** Time of the request, on the clock of `performance.now()`. */
  readonly startedAt: number;
  readonly resolve: (result: Result) => void;
  /** The span of a traced item, from its request until its result, and a function that runs a batch below the span. */
  readonly trace?: { readonly span: Span; readonly run: RunBatch<Item, Result> };
}

type RunBatch<Item, Result> = (items: Item[]) => Promise<(Result | Error)[]>;

interface BatcherOptions {
  /** Kind of the batches in the metrics. */
  readonly kind: BatchEvent['kind'];
  /** Maximum number of items in a batch. */
  readonly maxBatchSize: number;
  /** Milliseconds an item may wait until its batch is sent. */
  readonly timeout: number;
}

/**
 * Collects items that are requested at the same time into batches. One statement or transaction for a batch saves a
 * round trip or a commit for each item. A batch is sent after its last item was requested, so no caller reads a state
 * older than its request.
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
      const startedAt = performance.now();
      const trace = span && { span, run: inSameSpan(this.run) };
      return new Promise((resolve, reject) => {
        this.waiting.push({ item, startedAt, resolve, reject, trace });
        this.sendSoon();
      });
    });
  }

  /** Waits for one turn of the event loop, because requests that arrive together are handled one after the other. */
  private sendSoon(): void {
    if (this.inFlight < MOST_IN_FLIGHT) this.next ??= setImmediate(() => void this.send());
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
      const run = traceBatch(batch) ?? this.run;
      const results = await run(batch.map(({ item }) => item));
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

/**
 * Describes a batch in the spans of its items. Its statements are below the span of the first traced item; the other
 * spans link to that span.
 * @returns the function that runs the batch below the span; `undefined` if no item is traced
 */
function traceBatch<Item, Result>(batch: readonly Pending<Item, Result>[]): RunBatch<Item, Result> | undefined {
  const traces = batch.flatMap(({ trace, startedAt }) => (trace === undefined ? [] : { ...trace, startedAt }));
  const [first, ...others] = traces;
  for (const { span, startedAt } of traces) {
    span.setAttributes({ 'batch.size': batch.length, 'batch.wait_ms': performance.now() - startedAt });
  }
  for (const { span } of others) span.addLink({ context: first!.span.spanContext() });
  return first?.run;
}
