import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { MetricValues } from '../management/metric-sums.js';
import { WorkerChannel } from './worker-channel.js';

/** A worker, as the primary sees it. */
export class WorkerProcess {
  private readonly worker = cluster.fork();
  readonly process = this.worker.process;
  readonly name = `Worker ${this.worker.id} (process ${this.process.pid})`;
  readonly forkedAt = performance.now();
  readonly ended = new Promise((resolve) => this.process.once('exit', resolve));
  /** Resolves with `true` when the worker serves, with `false` if it ended before that. */
  readonly started: Promise<boolean>;
  hasStarted = false;
  /** Whether the worker serves now. */
  isServing = false;
  /** Whether the primary has asked the worker to stop. */
  isStopping = false;
  /** The last report of the worker. */
  metrics: MetricValues[] = [];
  readonly channel: WorkerChannel;

  /** @param log gets the log level of the workers, which `cli set` may have changed */
  constructor(log: Logger) {
    let resolveStarted!: (serves: boolean) => void;
    this.started = new Promise((resolve) => (resolveStarted = resolve));
    this.channel = new WorkerChannel(this.process, {
      serving: () => {
        this.hasStarted = this.isServing = true;
        resolveStarted(true);
      },
      portClosed: () => {
        this.isServing = false;
      },
      metrics: (metrics) => {
        this.metrics = metrics as MetricValues[];
      },
      logLevel: (level) => {
        log.level = String(level);
      },
    });
    // `close` follows the last output of the worker, so that its error message is printed first.
    this.process.once('close', () => resolveStarted(false));
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
