import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { NestApplicationContext } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Config } from '../config/config.js';
import { connectionsOf } from '../http/connections/connections.js';
import { Health } from '../management/health.js';
import { Shutdown } from './shutdown.js';

/** Milliseconds in which idle connections stay open, so that requests in transit still get a response. */
const IDLE_GRACE = 500;
/** Milliseconds that closing may take beyond SHUTDOWN_DELAY and SHUTDOWN_TIMEOUT. */
const CLOSE_TIMEOUT = 5000;

/** The steps of a stop that a worker coordinates with its primary. */
interface ShutdownSteps {
  readonly name: string;
  /** Called when the port is closed. Resolves when all connections that were passed to this process have arrived. */
  portClosed(): Promise<unknown>;
  /** Called when the last request has ended. */
  requestsFinished(): Promise<unknown>;
}

/** Stops the process on a signal with exit code 0, after an uncaught error with 1 (docs/architecture.md, "Stop"). */
export function shutDownOnSignals(app: NestFastifyApplication, config: Config, steps?: ShutdownSteps): void {
  const { shutdownDelay, shutdownTimeout } = config;
  const logger = new Logger(steps?.name ?? 'Service');
  // The interface of an application does not declare the parameter of `close`, which its class has.
  const context: Pick<NestApplicationContext, 'close'> = app;
  const stop = async (signal: string): Promise<void> => {
    const connections = connectionsOf(app.getHttpServer());
    app.get(Health, { strict: false }).isStopping = true;
    connections.isClosing = true;
    if (shutdownDelay > 0) await sleep(shutdownDelay);
    await connections.closePort();
    await steps?.portClosed();
    await connections.finish(shutdownTimeout, IDLE_GRACE);
    await steps?.requestsFinished();
    await context.close(signal);
  };
  const shutdown = new Shutdown(stop, config, CLOSE_TIMEOUT, logger);
  const { onSignal, onError } = shutdown;
  process.on('uncaughtException', onError);
  // The primary handles the other signals, and kills a slow worker.
  if (steps !== undefined) process.on('SIGTERM', (signal) => shutdown.begin(signal, 0));
  else for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
}
