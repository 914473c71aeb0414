import { createApp } from '../app.js';
import { Config } from '../config/config.js';
import { standardOutput, WORKER_LOG } from '../logging/standard-output.js';
import { Health } from '../management/health.js';
import { Metrics } from '../management/metrics.js';
import { shutDownWorker } from './graceful-shutdown.js';
import { logStartupBanner } from './startup-banner.js';
import { isMessage, marked, type Message } from './worker-process.js';

/** Milliseconds to wait for connections that the primary has passed on when the worker closes its port. */
const HANDOVER_TIMEOUT = 1000;

/**
 * Serves the API as one of several processes, until SIGTERM. A worker without its primary exits, as `node:cluster` does.
 * @param id from 1 up, never reused
 */
export async function start(config: Config, id: number): Promise<void> {
  // A terminal sends these signals to every process; only the primary handles them.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  standardOutput(WORKER_LOG);
  const own = shareOf(config, id);
  const app = await createApp(own);
  const metrics = () => app.get(Metrics, { strict: false }).registry.getMetricsAsJSON();
  const replies: Partial<Record<Message['type'], (value: unknown) => unknown>> = {
    liveness: () => true,
    readiness: () => app.get(Health, { strict: false }).readiness(),
    metrics,
    banner: (managementUrl) => logStartupBanner(app, own, String(managementUrl)),
  };
  onMessage(async ({ type, id, value }) => {
    const reply = replies[type];
    if (reply !== undefined) send({ type, id, value: await reply(value) });
  });
  shutDownWorker(app, own, {
    portClosed: waitForConnections,
    requestsFinished: async () => send({ type: 'metrics', id: 0, value: await metrics() }),
  });
  await app.listen({ host: own.host, port: own.port });
  send({ type: 'serving', id: 0 });
}

/** The configuration with the limits of one worker: an equal share, since connections are distributed in turn. */
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

/** Resolves when all connections that the primary has passed on have arrived. Other workers get the later ones. */
function waitForConnections(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, HANDOVER_TIMEOUT);
    onMessage(({ type }) => type === 'portClosed' && resolve());
    send({ type: 'portClosed', id: 0 });
  });
}

function onMessage(listener: (message: Message) => unknown): void {
  process.on('message', (message: unknown) => void (isMessage(message) && listener(message)));
}

function send(message: Message): void {
  // The callback ignores the error that is raised if the primary has ended; then Node ends this process.
  process.send?.(marked(message), undefined, undefined, () => {});
}
