import cluster from 'node:cluster';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import { WorkerChannel } from './worker-channel.js';

/** A metric as `getMetricsAsJSON` of prom-client returns it. */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>;

/** A worker, as the primary sees it. */
export class WorkerProcess {
  private readonly worker = cluster.fork();
  readonly process = this.worker.process;
  readonly name = `Worker ${this.worker.id} (process ${this.process.pid})`;
  readonly forkedAt = performance.now();
  readonly ended = new Promise<void>((resolve) => this.process.once('exit', () => resolve()));
  private resolveStarted!: (serves: boolean) => void;
  /** Resolves with `true` when the worker serves, with `false` if it ended before that. */
  readonly started = new Promise<boolean>((resolve) => (this.resolveStarted = resolve));
  hasStarted = false;
  /** Whether the worker serves now. */
  isServing = false;
  /** Whether the primary has asked the worker to stop. */
  isStopping = false;
  /** The last report of the worker. */
  metrics: MetricValues[] = [];
  readonly channel = new WorkerChannel(this.process, {
    serving: () => {
      this.hasStarted = this.isServing = true;
      this.resolveStarted(true);
    },
    portClosed: () => {
      this.isServing = false;
    },
    metrics: (metrics) => {
      this.metrics = metrics as MetricValues[];
    },
    logLevel: (level) => this.onLogLevel(String(level)),
  });

  /** @param onLogLevel called with the log level in force, which the database may have */
  constructor(private readonly onLogLevel: (level: string) => void) {
    const { stdout, stderr } = this.process;
    // `close` follows the last output of the worker, so that its error message is printed first.
    this.process.once('close', () => this.resolveStarted(false));
    stdout?.on('data', (text: Buffer) => process.stdout.write(text));
    stderr?.on('data', (text: Buffer) => process.stderr.write(text));
    // A signal to a process that has just ended may fail; `ended` handles the end.
    this.worker.on('error', () => {});
  }

  /** SIGTERM lets the worker finish its requests; a worker that does not serve yet ends immediately. */
  stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): void {
    this.isStopping = true;
    this.isServing = false;
    this.process.kill(signal);
  }
}
