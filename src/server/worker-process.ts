import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

/** What `getMetricsAsJSON` of prom-client returns for a metric. */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>;

/** Milliseconds that the primary waits for a reply: a little longer than a worker waits for the database. */
const REPLY_TIMEOUT = 2500;

const TYPES = ['serving', 'portClosed', 'liveness', 'readiness', 'metrics', 'banner'] as const;

/** A message between the primary and a worker. A reply has the type and the id of its request. */
export interface Message {
  readonly type: (typeof TYPES)[number];
  readonly id: number;
  readonly value?: unknown;
}

/** Recognises messages of this service among those of modules and libraries. */
export function isMessage(message: unknown): message is Message {
  const { type, id } = Object(message) as Partial<Message>;
  return TYPES.some((known) => known === type) && typeof id === 'number';
}

/** A worker, as the primary sees it. */
export class WorkerProcess {
  readonly name: string;
  readonly process: ChildProcess;
  /** Resolves with `true` when the worker takes requests, with `false` when it has ended before. */
  readonly started: Promise<boolean>;
  readonly ended: Promise<unknown>;
  hasStarted = false;
  /** Whether it takes requests now. */
  isServing = false;
  /** Whether the primary has asked it to stop. */
  isStopping = false;
  /** Its last metrics. */
  metrics: MetricValues[] = [];
  readonly forkedAt = performance.now();

  private readonly worker = cluster.fork();
  private readonly pending = new Map<number, (value?: unknown) => void>();
  private lastId = 0;

  constructor() {
    const { worker } = this;
    const child = worker.process;
    this.process = child;
    this.name = `Worker ${worker.id} (process ${child.pid})`;
    this.ended = new Promise((resolve) => child.once('exit', resolve)).then(() => {
      this.isServing = false;
      for (const settle of this.pending.values()) settle();
    });
    this.started = new Promise((resolve) => {
      worker.on('message', (message: unknown) => {
        if (isMessage(message)) this.receive(message);
        if (this.hasStarted) resolve(true);
      });
      // `close` comes after all output of the worker.
      child.once('close', () => resolve(false));
    });
    child.stdout?.on('data', (text: Buffer) => process.stdout.write(text));
    child.stderr?.on('data', (text: Buffer) => process.stderr.write(text));
    // A message to a worker that has just ended; `ended` reports the end.
    worker.on('error', () => {});
  }

  /** Resolves with the reply, or `undefined` when there is none in time. */
  ask(type: Message['type'], value?: unknown): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise<unknown>((resolve) => {
      this.pending.set(id, resolve);
      setTimeout(resolve, REPLY_TIMEOUT).unref();
      this.send({ type, id, value });
    }).finally(() => this.pending.delete(id));
  }

  /** Asks the worker to finish its requests and to end. One that does not serve yet ends immediately. */
  stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): void {
    this.isStopping = true;
    this.isServing = false;
    this.process.kill(signal);
  }

  private send(message: Message): void {
    if (this.worker.isConnected()) this.worker.send(message);
  }

  private receive(message: Message): void {
    const { type, id, value } = message;
    if (type === 'serving') this.hasStarted = this.isServing = true;
    // Messages keep their order: when the worker has this back, all connections for it have arrived.
    if (type === 'portClosed') this.send(message);
    this.isServing &&= type !== 'portClosed';
    // After its port is closed, a worker reports once more, without having been asked.
    if (type === 'metrics' && isMetrics(value) && (this.isServing || id === 0)) this.metrics = value;
    this.pending.get(id)?.(value);
  }
}

function isMetrics(value: unknown): value is MetricValues[] {
  return Array.isArray(value) && value.every((each) => Array.isArray((Object(each) as Partial<MetricValues>).values));
}
