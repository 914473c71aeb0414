import cluster from 'node:cluster';
import type { Config } from '../config/config.js';
import { PLATFORM_SETTINGS } from '../config/platform-settings.js';
import { LiveConfig } from '../database/polling/live-config.js';
import { standardOutput, WORKER_LOG } from '../logging/standard-output.js';
import { Health } from '../management/health.js';
import { Metrics } from '../management/metrics.js';
import { shutDownOnSignals } from './graceful-shutdown.js';
import { startApp } from './start-app.js';
import { logStartupBanner } from './startup-banner.js';
import { WorkerChannel } from './worker-process.js';

/** Serves the API as one of several processes, until SIGTERM. `node:cluster` ends a worker without its primary. */
export async function start(config: Config): Promise<void> {
  const { id, process: self } = cluster.worker!;
  // A terminal sends these signals to every process; only the primary handles them.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  standardOutput(WORKER_LOG);
  const own = shareOf(config);
  const app = await startApp(own);
  const { registry } = app.get(Metrics, { strict: false });
  const reportMetrics = async (): Promise<unknown> => primary.ask('metrics', await registry.getMetricsAsJSON());
  const primary = new WorkerChannel(self, {
    liveness: () => true,
    readiness: () => app.get(Health, { strict: false }).readiness(),
    metrics: reportMetrics,
    banner: (managementUrl) => logStartupBanner(app, own, String(managementUrl)),
  });
  shutDownOnSignals(app, own, {
    name: `Worker ${id}`,
    // The reply arrives after all connections for this worker. Later connections go to other workers.
    portClosed: () => primary.ask('portClosed'),
    requestsFinished: reportMetrics,
  });
  await app.get(LiveConfig, { strict: false }).onChange(({ logLevel }) => void primary.ask('logLevel', logLevel));
  await app.listen({ host: own.host, port: own.port });
  void primary.ask('serving');
}

/** The configuration with the limits of one worker: an equal share, since connections are distributed in turn. */
function shareOf(config: Config): Config {
  const { listCacheBytes, http } = PLATFORM_SETTINGS;
  const limits = [listCacheBytes, http.connections, http.connectionsPerAddress, http.bufferedBytes];
  return limits.reduce((own, limit) => own.with(limit, Math.ceil(own.get(limit) / own.workers)), config);
}
