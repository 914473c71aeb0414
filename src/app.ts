import 'reflect-metadata';
import { Logger, type NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyCorsOptionsDelegateCallback } from '@fastify/cors';
import { compile } from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import { serveAdminPage } from './admin/admin-routes.js';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { readRawBodies } from './http/body/raw-body.js';
import { traceStatements } from './database/statement-spans.js';
import { LiveConfig } from './database/polling/live-config.js';
import { Connections } from './http/connections/connections.js';
import { trackResponses } from './http/connections/tracking-hooks.js';
import { ErrorLog, logBrokenStreams } from './http/errors/error-log.js';
import { ErrorAdapter, sendProtocolError } from './http/errors/error.filter.js';
import { traceRequests, withTraceIds } from './http/messages/request-spans.js';
import { clientAddress, requestId } from './http/messages/request.js';
import { addResponseHeaders } from './http/messages/response-headers.js';
import { affordableConnections } from './http/open-files.js';
import { MAX_PARAM_LENGTH, respondToUnroutedRequests } from './http/routing/method-not-allowed.js';
import { createLog, NestLogger } from './logging/logger.js';
import { measureConnections } from './management/http-metrics.js';
import { Metrics } from './management/metrics.js';
import { serveDocs } from './openapi/docs-routes.js';
import type { RunningTracing } from './tracing/sdk.js';
import { traceIds } from './tracing/spans.js';

/** Messages of request lines in the log, by how the request ended. */
const REQUEST_MESSAGES = { sent: 'request', 'cut off': 'request cut off', dropped: 'request dropped' } as const;

/** Makes a Nest application on the adapter: `NestFactory` in the service, a testing module in tests. */
export type CreateNest = (
  adapter: FastifyAdapter,
  options: NestApplicationOptions,
) => NestFastifyApplication | Promise<NestFastifyApplication>;

/**
 * Builds the whole application, without listening. A test that passes
 * `(adapter, options) => module.createNestApplication(adapter, options)` gets the same stack as the service.
 */
export async function createApp(
  config: Config,
  create: CreateNest = (adapter, options) => NestFactory.create(AppModule.forRoot(config), adapter, options),
): Promise<NestFastifyApplication> {
  const log = createLog(config, config.tracesEndpoint && (() => traceIds()));
  const logger = new NestLogger(log);
  // Nest sets the logger later, but tracing may log another SDK now, and `Connections` an expired certificate.
  Logger.overrideLogger(logger);
  const tracing = config.tracesEndpoint && (await import('./tracing/sdk.js')).startTracing(config.tracesEndpoint);
  const limits = { ...config.http, connections: affordableConnections(config.http.connections) };
  const connections = new Connections({ ...limits, trustProxy: config.trustProxy }, config.tls);
  const adapter = createAdapter(config, connections);
  const app = await create(adapter, { bodyParser: false, abortOnError: false, logger });
  const fastify = adapter.getInstance<FastifyInstance>();
  // The server handles signals (`src/server/`). Nest would close the application too early.
  app.enableShutdownHooks = () => app;
  await app.get(LiveConfig, { strict: false }).onChange(({ logLevel }) => {
    log.level = logLevel;
  });
  // Hooks and listeners run in the order in which they are added.
  if (tracing !== undefined) trace(fastify, connections, tracing);
  connections.requests.onEnd((record, end, request) => {
    log.info(tracing === undefined ? record : withTraceIds(record, request), REQUEST_MESSAGES[end]);
  });
  trackResponses(fastify, connections);
  fastify.addHook('preClose', () => connections.finish(config.shutdownTimeout));
  addResponseHeaders(fastify);
  logBrokenStreams(fastify, app.get(ErrorLog, { strict: false }));
  respondToUnroutedRequests(fastify);
  readRawBodies(fastify);
  measureConnections(app.get(Metrics, { strict: false }).registry, connections, tracing !== undefined);
  if (config.corsOrigins !== undefined) app.enableCors({ delegator: cors(config.corsOrigins) });
  if (config.servesDocs) serveDocs(app);
  if (config.adminPage) serveAdminPage(app);
  return app;
}

function createAdapter({ trustProxy }: Config, connections: Connections): FastifyAdapter {
  const isTrusted = compile(trustProxy || []);
  return new ErrorAdapter({
    genReqId: requestId,
    // Some proxies forward the addresses of others with their ports.
    trustProxy: trustProxy && ((address, hop) => isTrusted(clientAddress(address, address)!, hop)),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // On a machine under load, Fastify's 10 s are too short for a start.
    pluginTimeout: 60_000,
    serverFactory: connections.serverFactory,
    // While the service stops, open connections get one more response each.
    return503OnClosing: false,
    frameworkErrors: sendProtocolError,
    clientErrorHandler: connections.clientErrorHandler,
  });
}

function trace(fastify: FastifyInstance, connections: Connections, tracing: RunningTracing): void {
  traceRequests(fastify, connections, tracing);
  const stopStatements = traceStatements(tracing);
  fastify.addHook('onClose', async () => {
    stopStatements();
    await tracing.stop();
  });
}

function cors(origin: string[]): FastifyCorsOptionsDelegateCallback {
  const options = {
    origin,
    methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
    // Pages with OpenTelemetry send the last two with each request.
    allowedHeaders:
      'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id, traceparent, tracestate',
    exposedHeaders:
      'ETag, Idempotency-Replayed, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Total-Count',
    maxAge: 600,
  };
  // The plugin treats every OPTIONS as a preflight. If a field is missing, `respondToUnroutedRequests` responds.
  return ({ headers }, callback) => {
    const preflight = Boolean(headers.origin && headers['access-control-request-method']);
    callback(null, { ...options, preflight });
  };
}
