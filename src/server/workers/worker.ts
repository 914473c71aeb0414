import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from '../../app.js';
import { Config } from '../../config/config.js';
import { useWriteTurns } from '../../database/sqlite/writing/write-turns.js';
import { Health } from '../../management/health.js';
import { Metrics } from '../../management/metrics.js';
import { shutDownWorker, type ShutdownSteps } from '../graceful-shutdown.js';
import { collectWhenCalm } from '../idle-collection.js';
import { logStartupBanner } from '../startup-banner.js';
import { tuneGarbageCollection } from '../garbage-collection.js';
import type { MessageToPrimary, MessageToWorker, WorkerCalls } from './messages.js';
import { PrimaryTurns } from './primary-turns.js';

/** Milliseconds to wait for the connections that are on their way: a message there and back. */
const HANDOVER_TIMEOUT = 1000;

/**
 * Serves the API as one of several processes, until SIGTERM stops it. Without its primary it exits immediately, as Node's workers do.
 * @param id from 1 up, never given again
 */
export async function startWorker(config: Config, id: number): Promise<void> {
  // A terminal sends these to every process; the primary decides what they mean.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const own = shareOf(config, id);
  if (own.database.engine === 'sqlite') takeTurns();
  const app = await createApp(own);
  shutDownWorker(app, own, stepsOf(app));
  await app.listen({ host: own.host, port: own.port });
  process.on('message', (message: MessageToWorker) => {
    if (message.type === 'call') void respond(app, message.id, message.name);
    else if (message.type === 'logBanner') void logStartupBanner(app, own, message.managementUrl);
  });
  send({ type: 'serving' });
  collectWhenCalm();
  tuneGarbageCollection();
}

function takeTurns(): void {
  const turns = new PrimaryTurns(send);
  process.on('message', (message: MessageToWorker) => turns.receive(message));
  useWriteTurns(turns);
}

/** What the settings allow the service, divided by its workers. Connections come to them in turn, so each has an equal share. */
function shareOf(config: Config, id: number): Config {
  const share = (value: number): number => Math.ceil(value / config.workers);
  const { connections, connectionsPerAddress, bufferedBytes } = config.http;
  return new Config({
    ...config,
    worker: { name: `Worker ${id}`, isFirst: id === 1 },
    http: {
      ...config.http,
      connections: share(connections),
      connectionsPerAddress: share(connectionsPerAddress),
      bufferedBytes: share(bufferedBytes),
    },
    listCacheBytes: share(config.listCacheBytes),
  });
}

function stepsOf(app: NestFastifyApplication): ShutdownSteps {
  return {
    portClosed: async () => {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, HANDOVER_TIMEOUT);
        process.on('message', ({ type }: MessageToWorker) => {
          if (type === 'noMoreConnections') resolve();
        });
        send({ type: 'portClosed' });
      });
    },
    requestsFinished: async () => {
      send({ type: 'lastMetrics', metrics: await valuesOf('metrics', app) });
    },
  };
}

async function respond(app: NestFastifyApplication, id: number, name: keyof WorkerCalls): Promise<void> {
  send({ type: 'result', id, value: await valuesOf(name, app) });
}

async function valuesOf<K extends keyof WorkerCalls>(name: K, app: NestFastifyApplication): Promise<WorkerCalls[K]> {
  const calls: { readonly [N in keyof WorkerCalls]: () => Promise<WorkerCalls[N]> } = {
    ping: () => Promise.resolve(true),
    readiness: () => app.get(Health, { strict: false }).readiness(),
    metrics: () => app.get(Metrics, { strict: false }).registry.getMetricsAsJSON(),
  };
  return calls[name]();
}

function send(message: MessageToPrimary): void {
  // The primary may have gone; then Node ends this process.
  process.send?.(message, undefined, undefined, () => {});
}
