import { Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Config } from '../config/config.js';
import { type Connections, connectionsOf } from '../http/connections/connections.js';
import { standardOutput } from '../logging/standard-output.js';
import { Health } from '../management/health.js';

/** Milliseconds in which requests on open connections are still answered, with `Connection: close`. */
const FAREWELL = 500;
const POLL = 20;
/** Milliseconds that closing may take beyond SHUTDOWN_DELAY and SHUTDOWN_TIMEOUT. */
const CLOSE_TIMEOUT = 5000;

/**
 * Stops the service on SIGTERM or SIGINT with exit code 0, and after an uncaught error with 1. A second signal exits
 * immediately with 1. So does a stop that takes 5 s longer than SHUTDOWN_DELAY and SHUTDOWN_TIMEOUT together.
 */
export function shutDownOnSignals(app: NestFastifyApplication, config: Config): void {
  const shutdown = new Shutdown(app, config);
  const onSignal = (signal: NodeJS.Signals): void => {
    if (shutdown.hasBegun) exitWithError();
    shutdown.begin(signal, 0);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  shutDownOnErrors(shutdown);
}

/** The steps of a stop that a worker coordinates with its primary. */
export interface ShutdownSteps {
  /** Called when the port is closed. Resolves when all connections that were passed to this process have arrived. */
  portClosed(): Promise<unknown>;
  /** Called when the last request has ended. */
  requestsFinished(): Promise<unknown>;
}

/** Stops a worker on SIGTERM and after an uncaught error. The primary handles SIGINT, and kills a slow worker. */
export function shutDownWorker(app: NestFastifyApplication, config: Config, steps: ShutdownSteps): void {
  const shutdown = new Shutdown(app, config, steps);
  process.on('SIGTERM', (signal) => {
    if (!shutdown.hasBegun) shutdown.begin(signal, 0);
  });
  shutDownOnErrors(shutdown);
}

function shutDownOnErrors(shutdown: Shutdown): void {
  // Unhandled rejections come here, too, because they have no listener.
  process.on('uncaughtException', (thrown: unknown, origin) => {
    const error = thrown instanceof Error ? thrown : new Error(`${inspect(thrown)} was thrown, which is no Error`);
    const logger = new Logger('Service');
    if (shutdown.hasBegun) {
      logger.error(error);
      shutdown.exitCode = 1;
    } else {
      logger.fatal(error);
      shutdown.begin(origin, 1);
    }
  });
}

class Shutdown {
  hasBegun = false;
  exitCode = 0;

  private readonly logger: Logger;
  private readonly connections: Connections;
  /** The current step, for the error message of a stop that takes too long. */
  private step = '';

  constructor(
    private readonly app: NestFastifyApplication,
    private readonly config: Config,
    private readonly steps?: ShutdownSteps,
  ) {
    this.logger = new Logger(config.worker?.name ?? 'Service');
    this.connections = connectionsOf(app.getHttpServer());
  }

  begin(reason: string, exitCode: number): void {
    this.hasBegun = true;
    this.exitCode = exitCode;
    const longest = this.config.shutdownDelay + this.config.shutdownTimeout + CLOSE_TIMEOUT;
    setTimeout(() => this.giveUp(longest), longest);
    this.run(reason).then(
      () => process.exit(this.exitCode),
      (error: unknown) => {
        console.error(error);
        exitWithError();
      },
    );
  }

  /**
   * Stops in order: `/health/ready` fails; after a delay for load balancers the port closes; running requests finish or
   * are cut off after the time-out; the modules and the database close.
   */
  private async run(reason: string): Promise<void> {
    const { shutdownDelay } = this.config;
    this.step = 'serving on for SHUTDOWN_DELAY';
    this.logger.log(`Stopping (${reason})`);
    this.app.get(Health, { strict: false }).isStopping = true;
    this.connections.isClosing = true;
    if (shutdownDelay > 0) await sleep(shutdownDelay);
    this.step = 'finishing requests';
    await this.finishRequests();
    await this.steps?.requestsFinished();
    this.step = 'closing the modules, the database and the management server';
    await this.app.close();
    this.step = 'waiting for file operations and DNS lookups';
    while (threadPoolRequests().length > 0) await sleep(POLL);
    this.logger.log('Stopped');
  }

  private async finishRequests(): Promise<void> {
    const { connections } = this;
    const { shutdownTimeout } = this.config;
    // `close` of http.Server would close idle connections immediately, and lose requests that are on their way.
    NetServer.prototype.close.call(this.app.getHttpServer());
    await this.steps?.portClosed();
    const began = performance.now();
    while (connections.open > 0) {
      const elapsed = performance.now() - began;
      if (elapsed >= Math.min(FAREWELL, shutdownTimeout)) connections.closeIdle();
      if (elapsed >= shutdownTimeout && connections.open > 0) {
        this.logger.warn(`Requests were cut off after ${shutdownTimeout} ms`);
        connections.closeAll();
      }
      await sleep(POLL);
    }
  }

  private giveUp(milliseconds: number): void {
    const resources = countedNames(process.getActiveResourcesInfo());
    console.error(`The service did not stop within ${milliseconds} ms. It was ${this.step}; still open: ${resources}`);
    exitWithError();
  }
}

/** Exits with code 1, or by SIGKILL if `process.exit` would wait for a thread that may never finish. */
function exitWithError(): never {
  if (threadPoolRequests().length > 0) {
    standardOutput().finish();
    process.kill(process.pid, 'SIGKILL');
  }
  process.exit(1);
}

/** Operations in libuv's thread pool without a time-out; `process.exit` waits for them. */
function threadPoolRequests(): string[] {
  return process.getActiveResourcesInfo().filter((name) => /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));
}

function countedNames(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ');
}
