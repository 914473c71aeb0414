import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { Logger as Log } from 'pino';
import type { MetricValues } from '../management/metric-sums.js';

/** Milliseconds that a reply may take: a little longer than a worker waits for the database. */
const REPLY_TIMEOUT = 2500;

/** Marks the messages of the service, because modules and libraries also send messages between these processes. */
const CHANNEL = 'service-workers';

interface Message {
  readonly id: number;
  /** Absent in a reply. */
  readonly request?: string;
  readonly value?: unknown;
}

/** Requests and replies between the primary and a worker, in both directions. Messages keep their order. */
export class WorkerChannel {
  private readonly pending = new Map<number, (reply?: unknown) => void>();
  private lastId = 0;

  /** @param handlers make the replies, by the names of the requests */
  constructor(
    private readonly other: ChildProcess,
    private readonly handlers: Readonly<Record<string, (value: unknown) => unknown>>,
  ) {
    other.on('message', (message: object) => {
      if ((message as { channel?: unknown } | null)?.channel === CHANNEL) void this.receive(message as Message);
    });
    other.once('disconnect', () => this.pending.forEach((resolve) => resolve()));
  }

  /** Resolves with the reply, or with `undefined` after `REPLY_TIMEOUT` and when the other process ends. */
  ask(request: string, value?: unknown): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise<unknown>((resolve) => {
      this.pending.set(id, resolve);
      setTimeout(resolve, REPLY_TIMEOUT).unref();
      this.send({ id, request, value });
    }).finally(() => this.pending.delete(id));
  }

  private async receive({ id, request, value }: Message): Promise<void> {
    if (request === undefined) return this.pending.get(id)?.(value);
    let reply: unknown;
    try {
      // After SIGHUP a worker may run another version, with requests that are unknown here.
      reply = await this.handlers[request]?.(value);
    } catch (error) {
      new Logger('Workers').error(`The request "${request}" of another process failed: ${(error as Error).message}`);
    }
    this.send({ id, value: reply });
  }

  private send(message: Message): void {
    // The callback ignores the error of sending to a process that has just ended.
    if (this.other.connected) this.other.send({ ...message, channel: CHANNEL }, undefined, undefined, () => {});
  }
}

/** A worker, as the primary sees it. */
export class WorkerProcess {
  private onServing!: () => void;
  private readonly worker = cluster.fork();
  readonly process = this.worker.process;
  readonly name = `Worker ${this.worker.id} (process ${this.process.pid})`;
  readonly forkedAt = performance.now();
  readonly ended = new Promise((resolve) => this.process.once('exit', resolve));
  /** Whether the worker has come to serve. `close` follows its last output, so that an error is printed first. */
  readonly started = new Promise<boolean>((resolve) => {
    this.onServing = () => resolve(true);
    this.process.once('close', () => resolve(false));
  });
  hasStarted = false;
  /** Whether the worker serves now. */
  isServing = false;
  /** Whether the primary has asked the worker to stop. */
  isStopping = false;
  /** The last report of the worker. */
  metrics: MetricValues[] = [];
  readonly channel: WorkerChannel;

  /** @param log gets the log level of the workers, which `cli set` may have changed */
  constructor(log: Log) {
    this.channel = new WorkerChannel(this.process, {
      serving: () => {
        this.hasStarted = this.isServing = true;
        this.onServing();
      },
      portClosed: () => void (this.isServing = false),
      metrics: (metrics) => void (this.metrics = metrics as MetricValues[]),
      logLevel: (level) => void (log.level = String(level)),
    });
    this.process.stdout?.on('data', (text: Buffer) => process.stdout.write(text));
    this.process.stderr?.on('data', (text: Buffer) => process.stderr.write(text));
    // A signal to a process that has just ended may fail; `ended` handles the end.
    this.worker.on('error', () => {});
  }

  /** Lets the worker finish its requests; a worker that does not serve yet ends immediately. */
  stop(): void {
    this.isStopping = true;
    this.isServing = false;
    this.process.kill('SIGTERM');
  }
}
