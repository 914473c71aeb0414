import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { Logger as Log } from 'pino';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

/** A value of a metric with its exemplar, which prom-client does not declare. */
type Value = MetricValue<string> & { readonly metricName?: string; exemplar?: object | null };

/** A metric as `getMetricsAsJSON` of prom-client returns it. */
export type MetricValues = MetricObjectWithValues<Value>;

/** Milliseconds that a reply may take: a little longer than a worker waits for the database. */
const REPLY_TIMEOUT = 2500;

/** Marks the messages of the service, because modules and libraries also send messages between these processes. */
const CHANNEL = 'service-workers';

interface Message {
  readonly channel: typeof CHANNEL;
  readonly id: number;
  /** Absent in a reply. */
  readonly request?: string;
  readonly value?: unknown;
}

/** Requests and replies between the primary and a worker, in both directions. Messages keep their order. */
export class WorkerChannel {
  private readonly pending = new Map<number, (reply: unknown) => void>();
  private lastId = 0;

  /** @param handlers make the replies, by the names of the requests */
  constructor(
    private readonly other: ChildProcess,
    private readonly handlers: Readonly<Record<string, (value: unknown) => unknown>>,
  ) {
    const logError = (error: Error): void => new Logger('Workers').error(error);
    other.on('message', (message: Message | null) => {
      if (message?.channel === CHANNEL) this.receive(message).catch(logError);
    });
  }

  /** Resolves with the reply, or with `undefined` after `REPLY_TIMEOUT`. */
  async ask(request: string, value?: unknown): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise<unknown>((resolve) => {
      this.pending.set(id, resolve);
      setTimeout(resolve, REPLY_TIMEOUT).unref();
      this.send({ channel: CHANNEL, id, request, value });
    }).finally(() => this.pending.delete(id));
  }

  private async receive({ channel, id, request, value }: Message): Promise<void> {
    if (request === undefined) this.pending.get(id)?.(value);
    // After SIGHUP a worker may run another version, with requests that are unknown here.
    else this.send({ channel, id, value: await this.handlers[request]?.(value) });
  }

  private send(message: Message): void {
    // The callback ignores the error of sending to a process that has just ended.
    if (this.other.connected) this.other.send(message, undefined, undefined, () => {});
  }
}

export class WorkerProcess {
  private readonly worker = cluster.fork();
  readonly process = this.worker.process;
  readonly name = `Worker ${this.worker.id} (process ${this.process.pid})`;
  /** Whether the operating system has made the process. Otherwise the process emits `error` instead of `exit`. */
  private readonly isMade = this.process.pid !== undefined;
  readonly ended = new Promise((resolve) => this.process.once(this.isMade ? 'exit' : 'error', resolve));
  private onStart!: (isServing: boolean) => void;
  /** Resolves with true when the worker serves, with false if it ends before. `close` comes after its last output. */
  readonly started = new Promise<boolean>((resolve) => {
    this.onStart = resolve;
    this.process.once(this.isMade ? 'close' : 'error', () => resolve(false));
  });
  hasServed = false;
  isServing = false;
  isStopping = false;
  metrics: MetricValues[] = [];
  readonly channel = new WorkerChannel(this.process, {
    serving: () => {
      this.isServing = true;
      this.hasServed = true;
      this.onStart(true);
    },
    portClosed: () => void (this.isServing = false),
    metrics: (metrics) => void (this.metrics = metrics as MetricValues[]),
    logLevel: (level) => void (this.log.level = String(level)),
  });

  /** @param log gets the log level of the workers, which `cli set` may have changed */
  constructor(private readonly log: Log) {
    this.process.stdout?.on('data', (text: Buffer) => process.stdout.write(text));
    this.process.stderr?.on('data', (text: Buffer) => process.stderr.write(text));
    this.worker.on('error', (error) => {
      // A signal to a process that has just ended may fail, too; `ended` handles the end.
      if (!this.isMade) new Logger('Workers').error(error.message);
    });
  }

  /** Lets the worker finish its requests; a worker that does not serve yet ends immediately. */
  stop(timeout: number): void {
    this.isStopping = true;
    this.isServing = false;
    this.process.kill('SIGTERM');
    // A worker stops itself earlier, unless it is blocked.
    setTimeout(() => this.process.kill('SIGKILL'), timeout).unref();
  }
}
