import cluster from 'node:cluster';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { type Config, ConfigError } from '../config/config.js';
import { createLog, NestLogger } from '../logging/logger.js';
import { standardOutput } from '../logging/standard-output.js';
import { createManagementServer } from '../management/management-routes.js';
import { Shutdown } from './shutdown.js';
import { hasSocket } from './systemd-socket.js';
import { WorkerProcess } from './worker-process.js';
import { WorkersManagement } from './workers-management.js';

const STDIN = 0;
/** Milliseconds that workers may take to end beyond their own limit (`graceful-shutdown.ts`). */
const END_TIMEOUT = 6000;
/** Milliseconds after which the end of a worker resets the pause. */
const STABLE = 60_000;
/** Milliseconds before the replacement of a worker that ended early; the pause doubles each time. */
const [SHORTEST_PAUSE, LONGEST_PAUSE] = [1000, 30_000];
/** Replacements in a row that may fail to start before the service ends. */
const MOST_FAILURES = 5;

/**
 * Starts and replaces the workers, and serves the management port for all of them. It serves no API request and opens
 * no database. SIGTERM and SIGINT stop the service, SIGHUP replaces the workers. See docs/adr/0110-workers.md.
 */
export class Primary {
  private readonly logger = new Logger('Service');
  private readonly log: ReturnType<typeof createLog>;
  private readonly workers = new Set<WorkerProcess>();
  private readonly management = new WorkersManagement(this.workers);
  private readonly shutdown: Shutdown;
  /** Milliseconds that a worker may take to stop. */
  private readonly timeout: number;
  /** Whether the first start of all workers has succeeded. */
  private isRunning = false;
  private replacing: Promise<void> = Promise.resolve();
  /** Milliseconds before the next replacement. */
  private pause = 0;
  /** Workers in a row that ended before they served. */
  private failures = 0;

  constructor(private readonly config: Config) {
    this.timeout = config.shutdownDelay + config.shutdownTimeout + END_TIMEOUT;
    this.shutdown = new Shutdown(() => this.stopWorkers(), this.timeout, this.logger);
    process.on('exit', () => this.workers.forEach((worker) => worker.process.kill('SIGKILL')));
    this.log = createLog(config);
    Logger.overrideLogger(new NestLogger(this.log));
    const exec = fileURLToPath(new URL('../main.js', import.meta.url));
    // `advanced`, because JSON turns NaN into null. The last descriptor is `WORKER_LOG`.
    const stdio = ['ignore' as const, 'pipe' as const, 'pipe' as const, 'ipc' as const, standardOutput().descriptor];
    cluster.setupPrimary({ exec, serialization: 'advanced', stdio });
  }

  /** Resolves when all workers serve. The first worker starts alone: it runs migrations and prints an error once. */
  async start(): Promise<void> {
    if (hasSocket()) {
      throw new ConfigError([
        'WORKERS does not work with a socket of systemd: unset WORKERS or disable the .socket unit',
      ]);
    }
    const { host, managementHost = host, managementPort: port, workers } = this.config;
    const { onSignal, onError } = this.shutdown;
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('uncaughtException', onError);
    // A terminal that closes sends SIGHUP, too, and is no terminal any more; then the service stops.
    const hasTerminal = isatty(STDIN);
    process.on('SIGHUP', (signal) => (hasTerminal ? onSignal(signal) : this.replaceAll()));
    const server = createManagementServer(this.config, this.management);
    await server.listen({ host: managementHost, port });
    // A SIGHUP during the start waits for the end of the start, because starting workers may have read an old secret.
    this.replacing = this.forkOrExit().then(async () => {
      await Promise.all(Array.from({ length: workers - 1 }, () => this.forkOrExit()));
    });
    await this.replacing;
    this.isRunning = true;
    this.forkMissing();
    const [first] = this.workers;
    void first?.channel.ask('banner', server.listeningOrigin);
  }

  private fork(): WorkerProcess {
    const worker = new WorkerProcess(this.log);
    this.workers.add(worker);
    void worker.ended.then(() => this.handleEnd(worker));
    return worker;
  }

  private async forkOrExit(): Promise<void> {
    if (this.shutdown.hasBegun) return;
    const worker = this.fork();
    if (!(await worker.started) && !this.shutdown.hasBegun) process.exit(worker.process.exitCode ?? 1);
  }

  private handleEnd(worker: WorkerProcess): void {
    const { exitCode, signalCode } = worker.process;
    this.workers.delete(worker);
    this.management.keepCounts(worker);
    if (this.shutdown.hasBegun && worker.hasStarted && exitCode !== 0) this.shutdown.exitCode ||= 1;
    if (!this.isRunning || worker.isStopping) return;
    this.management.crashes.inc();
    // A new worker that failed to start on SIGHUP needs no replacement.
    if (this.missing === 0) return;
    this.logger.error(`${worker.name} has ended (${signalCode ?? `exit code ${exitCode}`}); it will be replaced`);
    this.failures = worker.hasStarted ? 0 : this.failures + 1;
    if (this.failures === MOST_FAILURES) {
      this.shutdown.begin('a worker that has ended cannot be replaced', exitCode ?? 1);
    }
    if (performance.now() - worker.forkedAt > STABLE) this.pause = 0;
    setTimeout(() => this.forkMissing(), this.pause);
    this.pause = Math.min(Math.max(2 * this.pause, SHORTEST_PAUSE), LONGEST_PAUSE);
  }

  private get missing(): number {
    return this.config.workers - [...this.workers].filter(({ isStopping }) => !isStopping).length;
  }

  private forkMissing(): void {
    while (!this.shutdown.hasBegun && this.missing > 0) this.fork();
  }

  /** Replaces the workers one by one: an old worker stops when its replacement serves. */
  private replaceAll(): void {
    this.replacing = this.replacing.then(async () => {
      this.logger.log('Replacing the workers (SIGHUP)');
      for (const old of [...this.workers].filter(({ isServing }) => isServing)) {
        if (this.shutdown.hasBegun) return;
        if (!(await this.fork().started)) {
          return this.logger.error('A new worker could not start; the old workers that are left go on serving');
        }
        old.stop();
        this.forkMissing();
        // A worker stops itself earlier, unless it is blocked.
        const killing = setTimeout(() => {
          this.logger.warn(`${old.name} did not stop within ${this.timeout} ms and is killed`);
          old.process.kill('SIGKILL');
        }, this.timeout);
        await old.ended;
        clearTimeout(killing);
      }
      this.logger.log('The workers are replaced');
    });
  }

  private async stopWorkers(): Promise<void> {
    this.shutdown.step = 'waiting for the workers to end';
    this.management.isStopping = true;
    for (const worker of this.workers) worker.stop();
    await Promise.all([...this.workers].map(({ ended }) => ended));
  }
}
