import { isatty } from 'node:tty';
import { Logger } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/config.js';
import { createLog, NestLogger } from '../../logging/logger.js';
import { createManagementServer } from '../../management/management-routes.js';
import { ServiceHealth } from './service-health.js';
import { ServiceMetrics } from './service-metrics.js';
import { WorkerPool, WorkerStartError } from './worker-pool.js';

const STDIN = 0;

/** Milliseconds that workers may take to end beyond what they allow themselves (`graceful-shutdown.ts`). */
const END_TIMEOUT = 6000;

/**
 * Supervises the workers: starts and replaces them, writes their log, and serves the management port for all of them. It serves no
 * request of the API and opens no database. SIGTERM and SIGINT stop the service, SIGHUP replaces its workers one after the other.
 * See docs/adr/0110-workers.md.
 */
export class Primary {
  private readonly logger = new Logger('Service');
  private readonly pool: WorkerPool;
  private readonly health: ServiceHealth;
  private readonly management: FastifyInstance;
  private exitCode = 0;

  constructor(private readonly config: Config) {
    Logger.overrideLogger(new NestLogger(createLog(config)));
    this.pool = new WorkerPool(config.workers);
    this.health = new ServiceHealth(this.pool);
    const metrics = new ServiceMetrics(this.pool);
    this.management = createManagementServer(config, {
      contentType: metrics.contentType,
      isLive: () => this.health.isLive(),
      readiness: () => this.health.readiness(),
      metrics: () => metrics.metrics(),
    });
  }

  /** Resolves when all workers serve. */
  async start(): Promise<void> {
    this.handleSignals();
    await this.management.listen({ host: this.config.host, port: this.config.managementPort });
    try {
      await this.pool.start();
    } catch (error) {
      if (error instanceof WorkerStartError) this.exit(error.exitCode);
      throw error;
    }
    this.pool.serving[0]?.send({ type: 'logBanner', managementUrl: this.management.listeningOrigin });
  }

  private handleSignals(): void {
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.health.isStopping) this.exit(1);
      this.stop(signal, 0);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    process.on('SIGHUP', (signal) => {
      // A terminal that closes means the end.
      if (isatty(STDIN)) onSignal(signal);
      else if (!this.health.isStopping) this.pool.replaceAll();
    });
    process.on('uncaughtException', (error, origin) => {
      this.logger.fatal(error);
      this.stop(origin, 1);
    });
    this.pool.on('failed', (exitCode) => this.stop('a worker that has ended cannot be replaced', exitCode));
  }

  private stop(reason: string, exitCode: number): void {
    this.exitCode = Math.max(this.exitCode, exitCode);
    if (this.health.isStopping) return;
    this.health.isStopping = true;
    this.logger.log(`Stopping (${reason})`);
    const { shutdownDelay, shutdownTimeout } = this.config;
    const longest = shutdownDelay + shutdownTimeout + END_TIMEOUT;
    setTimeout(() => {
      console.error(`The workers did not end within ${longest} ms`);
      this.exit(1);
    }, longest);
    this.end().then(
      () => this.exit(this.exitCode),
      (error: unknown) => {
        console.error(error);
        this.exit(1);
      },
    );
  }

  private async end(): Promise<void> {
    const exitCode = await this.pool.stop();
    this.exitCode = Math.max(this.exitCode, exitCode);
    await this.management.close();
    this.logger.log('Stopped');
  }

  private exit(code: number): never {
    this.pool.kill();
    process.exit(code);
  }
}
