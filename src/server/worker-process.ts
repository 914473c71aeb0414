import cluster from 'node:cluster';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

/** A metric as `getMetricsAsJSON` of prom-client returns it. */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>;

/** Milliseconds that the primary waits for a reply: a little longer than a worker waits for the database. */
const REPLY_TIMEOUT = 2500;

/** Marks the messages of the service; modules and libraries send others between the same processes. */
const CHANNEL = 'service-workers';

/** A message between the primary and a worker. A reply has the type and the id of its request, others have the id 0. */
export interface Message {
  readonly type: 'serving' | 'portClosed' | 'liveness' | 'readiness' | 'metrics' | 'banner';
  readonly id: number;
  readonly value?: unknown;
}

export const marked = (message: Message): object => ({ ...message, channel: CHANNEL });

export function isMessage(message: unknown): message is Message {
  return (Object(message) as { channel?: unknown }).channel === CHANNEL;
}

/** A worker, as the primary sees it. */
export class WorkerProcess {
  private readonly worker = cluster.fork();
  readonly process = this.worker.process;
  readonly name = `Worker ${this.worker.id} (process ${this.process.pid})`;
  readonly forkedAt = performance.now();
  readonly ended = new Promise<void>((resolve) => this.process.once('exit', () => resolve()));
  /** Resolves with `true` when the worker serves, with `false` if it ended before that. */
  readonly started: Promise<boolean>;
  hasStarted = false;
  /** Whether the worker serves now. */
  isServing = false;
  /** Whether the primary has asked the worker to stop. */
  isStopping = false;
  /** The last report of the worker. */
  metrics: MetricValues[] = [];
  private readonly pending = new Map<number, (value?: unknown) => void>();
  private lastId = 0;

  constructor() {
    const { worker, process: child } = this;
    void this.ended.then(() => {
      this.isServing = false;
      for (const settle of this.pending.values()) settle();
    });
    this.started = new Promise((resolve) => {
      worker.on('message', (message: unknown) => {
        if (isMessage(message)) this.receive(message);
        if (this.hasStarted) resolve(true);
      });
      // `close` follows the last output of the worker, so that its error message is printed first.
      child.once('close', () => resolve(false));
    });
    child.stdout?.on('data', (text: Buffer) => process.stdout.write(text));
    child.stderr?.on('data', (text: Buffer) => process.stderr.write(text));
    // Sending to a worker that has just ended fails; `ended` handles the end.
    worker.on('error', () => {});
  }

  /** Resolves with the reply, or with `undefined` after `REPLY_TIMEOUT`. */
  ask(type: Message['type'], value?: unknown): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise<unknown>((resolve) => {
      this.pending.set(id, resolve);
      setTimeout(resolve, REPLY_TIMEOUT).unref();
      this.send({ type, id, value });
    }).finally(() => this.pending.delete(id));
  }

  /** SIGTERM lets the worker finish its requests; a worker that does not serve yet ends immediately. */
  stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): void {
    this.isStopping = true;
    this.isServing = false;
    this.process.kill(signal);
  }

  private send(message: Message): void {
    if (this.worker.isConnected()) this.worker.send(marked(message));
  }

  private receive(message: Message): void {
    const { type, id, value } = message;
    if (type === 'serving') this.hasStarted = this.isServing = true;
    if (type === 'portClosed') {
      this.isServing = false;
      // Messages keep their order: when this one arrives, all connections for the worker have arrived.
      this.send(message);
    }
    // The final report has the id 0; the reply to an earlier request must not replace it.
    if (type === 'metrics' && (this.isServing || id === 0)) this.metrics = value as MetricValues[];
    this.pending.get(id)?.(value);
  }
}
