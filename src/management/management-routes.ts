import { createHash, timingSafeEqual } from 'node:crypto';
import fastify, { type FastifyInstance } from 'fastify';
import { type Metric, Registry, type RegistryContentType } from 'prom-client';
import type { Config } from '../config/config.js';
import { serviceVersion } from '../config/service-version.js';
import { Connections } from '../http/connections/connections.js';
import { trackResponses } from '../http/connections/tracking-hooks.js';
import { ApiError } from '../http/errors/api-error.js';
import { sendProtocolError } from '../http/errors/error.filter.js';
import { requestId } from '../http/messages/request.js';
import { addResponseHeaders } from '../http/messages/response-headers.js';
import { respondToUnroutedRequests } from '../http/routing/method-not-allowed.js';

/** Limits for probes and scrapers, which are few and have small responses. */
const LIMITS = {
  connections: 200,
  connectionsPerAddress: 200,
  bufferedBytes: 8 * 1024 * 1024,
} as const;

/** Whether the service accepts requests; each check is "ok" or the reason why it fails. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<'running' | 'database' | 'migrations' | 'storage', string>>;
}

/** The source of health and metrics: one application, or all workers. */
export interface Managed {
  isLive(): Promise<boolean>;
  readiness(): Promise<Readiness>;
  /** All metrics, with exemplars while tracing is on. */
  metrics(): Promise<Registry>;
}

/** Makes the server of the management port. The port is separate, so that health and metrics are not public. */
export function createManagementServer(
  { http, metricsToken, tracesEndpoint }: Config,
  managed: Managed,
): FastifyInstance {
  const connections = new Connections({ ...http, ...LIMITS });
  const server = fastify({
    genReqId: requestId,
    forceCloseConnections: true,
    serverFactory: connections.serverFactory,
    clientErrorHandler: connections.clientErrorHandler,
    frameworkErrors: sendProtocolError,
  });
  server.setErrorHandler(sendProtocolError);
  trackResponses(server, connections);
  addResponseHeaders(server);
  respondToUnroutedRequests(server);
  const version = serviceVersion();
  const prometheusText = onceForWaiting(async () => (await managed.metrics()).metrics());
  const openMetricsText = onceForWaiting(async () => openMetrics(await managed.metrics()));
  server.get('/health/live', async (_request, reply) => {
    const isLive = await managed.isLive();
    return reply
      .code(isLive ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: isLive ? 'live' : 'not live', version });
  });
  server.get('/health/ready', async (_request, reply) => {
    const { ready, checks } = await managed.readiness();
    return reply
      .code(ready ? 200 : 503)
      .headers({ 'cache-control': 'no-store', ...(!ready && { 'retry-after': '1' }) })
      .send({ status: ready ? 'ready' : 'not ready', checks });
  });
  server.get('/metrics', async ({ headers: { authorization, accept } }, reply) => {
    const given = authorization?.replace(/^bearer /i, 'Bearer ');
    if (metricsToken !== undefined && !isEqual(given, `Bearer ${metricsToken}`)) {
      throw new ApiError(401, 'UNAUTHENTICATED', 'Send the token of METRICS_TOKEN: Authorization: Bearer <token>', {
        headers: { 'www-authenticate': 'Bearer realm="metrics"' },
      });
    }
    reply.header('cache-control', 'no-store');
    if (tracesEndpoint !== undefined && accept?.includes('application/openmetrics-text')) {
      return reply.type(Registry.OPENMETRICS_CONTENT_TYPE).send(await openMetricsText());
    }
    return reply.type(Registry.PROMETHEUS_CONTENT_TYPE).send(await prometheusText());
  });
  return server;
}

/**
 * Runs `work` once for all calls that wait, so that a flood of scrapes does not delay a probe. `sharedReading` would
 * give a call the values of a run that began before it.
 */
function onceForWaiting<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const runNext = (): Promise<T> => {
    next = undefined;
    const result = work();
    running = result.catch(() => undefined);
    return result;
  };
  return () => (next ??= running.then(runNext));
}

/** All metrics in the format OpenMetrics, which has exemplars. prom-client renames the counters of such a registry. */
async function openMetrics(registry: Registry): Promise<string> {
  const copies = new Registry<RegistryContentType>();
  copies.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of await registry.getMetricsAsJSON()) {
    const copy = { ...metric, get: (): unknown => copy };
    copies.registerMetric(copy as unknown as Metric);
  }
  return copies.metrics();
}

/** Compares in a time that does not depend on the content. */
function isEqual(given = '', expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
