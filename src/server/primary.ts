import cluster from 'node:cluster';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { type Config, ConfigError } from '../config/config.js';
import { createLog, NestLogger } from '../logging/logger.js';
import { standardOutput } from '../logging/standard-output.js';
import { createManagementServer } from '../management/management-routes.js';
import { Shutdown } from './shutdown.js';
import { WorkerProcess } from './worker-process.js';
import { WorkersManagement } from './workers-management.js';

const STDIN = 0;
/** Milliseconds that workers may take to end beyond their own limit (`graceful-shutdown.ts`). */
const END_TIMEOUT = 6000;
/** Milliseconds before the replacement of a worker that has crashed; doubled for each that ends before it serves. */
const PAUSE = 1000;
const LONGEST_PAUSE = 30_000;
const KILLED = 'if memory ran out, raise its limit, or set fewer WORKERS';

/**
 * Starts and replaces the workers, and serves the management port for all of them. It serves no API request and opens
 * no database. SIGTERM and SIGINT stop the service, SIGHUP replaces the workers. See docs/adr/0110-workers.md.
 */
class Primary {
  private readonly logger = new Logger('Service');
  private readonly log: ReturnType<typeof createLog>;
  private readonly workers = new Set<WorkerProcess>();
  private readonly management = new WorkersManagement(this.workers);
  private readonly shutdown = new Shutdown(() => this.stopWorkers(), this.config, END_TIMEOUT, this.logger);
  /** Whether the first worker has started. */
  private isRunning = false;
  private replacing: Promise<void> = Promise.resolve();
  /** Workers in a row that ended before they served. */
  private failures = 0;
  private restart?: NodeJS.Timeout;

  constructor(private readonly config: Config) {
    this.log = createLog(config);
    Logger.overrideLogger(new NestLogger(this.log));
    const exec = fileURLToPath(new URL('../main.js', import.meta.url));
    // `advanced`, because JSON turns NaN into null. The last descriptor is `WORKER_LOG`.
    const stdio = ['ignore' as const, 'pipe' as const, 'pipe' as const, 'ipc' as const, standardOutput().descriptor];
    cluster.setupPrimary({ exec, args: ['worker'], serialization: 'advanced', stdio });
  }

  async start(): Promise<void> {
    const { host, managementHost = host, managementPort: port } = this.config;
    const { onSignal, onError } = this.shutdown;
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('uncaughtException', onError);
    // A terminal that closes sends SIGHUP, too.
    const hasTerminal = isatty(STDIN);
    process.on('SIGHUP', (signal) => (hasTerminal && !isatty(STDIN) ? onSignal(signal) : this.replaceAll()));
    // A blocked worker would survive the end of its channel.
    process.on('exit', () => this.workers.forEach((worker) => worker.process.kill('SIGKILL')));
    const server = createManagementServer(this.config, this.management);
    await server.listen({ host: managementHost, port });
    // A SIGHUP during the start waits for the end of the start, because starting workers may have read an old secret.
    this.replacing = this.startWorkers();
    await this.replacing;
    const [first] = this.workers;
    void first?.channel.ask('banner', server.listeningOrigin);
  }

  /** The first worker starts alone: it runs migrations; an error of the start is printed once and ends the service. */
  private async startWorkers(): Promise<void> {
    const first = this.fork();
    if (!(await first.started) && !this.shutdown.hasBegun) {
      const { exitCode, signalCode } = first.process;
      // A killed process prints no reason itself.
      if (signalCode === 'SIGKILL') this.logger.fatal(`${first.name} was killed before it served; ${KILLED}`);
      process.exit(exitCode ?? 1);
    }
    this.isRunning = true;
    this.forkMissing();
    await Promise.all([...this.workers].map(({ started }) => started));
  }

  private fork(): WorkerProcess {
    const worker = new WorkerProcess(this.log);
    this.workers.add(worker);
    void worker.ended.then(() => this.handleEnd(worker));
    return worker;
  }

  private handleEnd(worker: WorkerProcess): void {
    const { exitCode, signalCode } = worker.process;
    this.workers.delete(worker);
    this.management.keepCounts(worker);
    // A signal ends a worker that has not served yet.
    if (this.shutdown.hasBegun && worker.hasServed && exitCode !== 0) this.shutdown.exitCode ||= 1;
    if (!this.isRunning || worker.isStopping) return;
    // A terminal sends SIGINT to all processes. A worker that starts may end before this process has handled its own.
    if (worker.hasServed || signalCode !== 'SIGINT') {
      this.management.crashes.inc();
      this.logger.error(`${worker.name} has ended (${signalCode ?? `exit code ${exitCode}`})`);
    }
    this.failures = worker.hasServed ? 0 : this.failures + 1;
    this.restart ??= setTimeout(() => this.forkMissing(), Math.min(PAUSE * 2 ** this.failures, LONGEST_PAUSE));
  }

  private forkMissing(): void {
    clearTimeout(this.restart);
    this.restart = undefined;
    if (this.shutdown.hasBegun) return;
    const workers = [...this.workers].filter(({ isStopping }) => !isStopping);
    for (let count = workers.length; count < this.config.workers; count++) this.fork();
  }

  /** Replaces the workers one by one: an old worker stops when its replacement serves. */
  private replaceAll(): void {
    this.replacing = this.replacing.then(async () => {
      this.logger.log('Replacing the workers (SIGHUP)');
      for (const old of [...this.workers]) {
        if (this.shutdown.hasBegun) return;
        // A worker that has crashed meanwhile is replaced by `forkMissing`.
        if (!this.workers.has(old)) continue;
        const isServing = await this.fork().started;
        // A signal that stops the service also ends the new worker.
        if (this.shutdown.hasBegun) return;
        if (!isServing) {
          return this.logger.error('A new worker could not start; the remaining old workers continue to serve');
        }
        old.stop(this.shutdown.timeout);
        this.forkMissing();
        await old.ended;
      }
      this.logger.log('The workers are replaced');
    });
  }

  private async stopWorkers(): Promise<void> {
    this.management.isStopping = true;
    for (const worker of this.workers) worker.stop(this.shutdown.timeout);
    await Promise.all([...this.workers].map(({ ended }) => ended));
  }
}

/** Resolves when all workers serve. */
export function start(config: Config): Promise<void> {
  if (cluster.isPrimary) return new Primary(config).start();
  const remedy = 'let that program start one process (PM2: fork mode), or set WORKERS=1';
  throw new ConfigError([`WORKERS is ${config.workers} in a worker of another program's cluster: ${remedy}`]);
}
