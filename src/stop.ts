import { Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Config } from './config/config.js';
import { type Connections, connectionsOf } from './http/connections/connections.js';
import { Lifecycle } from './management/lifecycle.js';

/** Milliseconds in which a client on an open connection is still answered, and told that the connection closes. */
const FAREWELL = 500;
const POLL = 20;

/** On SIGTERM or SIGINT stops cleanly and exits with 0; a second signal exits at once with 1. */
export function stopOnSignals(app: NestFastifyApplication, config: Config): void {
  const connections = connectionsOf(app.getHttpServer());
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    void stop(app, connections, config, signal).then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/**
 * Not ready, and after the delay in which a load balancer turns to others no new connections; running requests finish, then
 * the database closes. Requests that are not done within the time-out are cut off.
 */
async function stop(
  app: NestFastifyApplication,
  connections: Connections,
  { shutdownDelay, shutdownTimeout }: Config,
  reason: string,
): Promise<void> {
  const logger = new Logger('Service');
  logger.log(`Stopping (${reason})`);
  app.get(Lifecycle, { strict: false }).stop();
  if (shutdownDelay > 0) await sleep(shutdownDelay);
  // http.Server's own close would also close idle connections at once, and with them requests that are on their way.
  NetServer.prototype.close.call(app.getHttpServer());
  const began = performance.now();
  while (connections.open > 0) {
    const elapsed = performance.now() - began;
    if (elapsed >= Math.min(FAREWELL, shutdownTimeout)) connections.closeIdle();
    if (elapsed >= shutdownTimeout && connections.open > 0) {
      logger.warn(`Requests were cut off after ${shutdownTimeout} ms`);
      connections.closeAll();
    }
    await sleep(POLL);
  }
  await app.close();
  logger.log('Stopped');
}
