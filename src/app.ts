import 'reflect-metadata';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyCorsOptionsDelegateCallback } from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { serveDocs } from './openapi/docs-routes.js';
import { sendProtocolError } from './http/errors/error.filter.js';
import { ErrorAdapter } from './http/errors/fastify-errors.js';
import { respondToUnroutedRequests, MAX_PARAM_LENGTH } from './http/routing/method-not-allowed.js';
import type { ConnectionLimits } from './http/connections/connection-limits.js';
import { Connections } from './http/connections/connections.js';
import { trustedProxies } from './http/connections/proxies.js';
import { trackResponses } from './http/connections/tracking-hooks.js';
import { readRawBodies } from './http/body/raw-body.js';
import { requestId } from './http/messages/request-id.js';
import { logRequests } from './http/messages/request-log.js';
import { addResponseHeaders } from './http/messages/response-headers.js';
import { createLog, NestLogger } from './logging/logger.js';
import { Lifecycle } from './management/lifecycle.js';
import { measureConnections } from './management/http-metrics.js';
import { Metrics } from './management/metrics.js';

/** Milliseconds; longer than the idle time-outs of common load balancers (60 s), so that the balancer closes first. */
const KEEP_ALIVE_TIMEOUT = 75_000;

/** Makes a Nest application on the adapter: `NestFactory` in the service, a testing module in tests. */
export type CreateNest = (
  adapter: FastifyAdapter,
  options: NestApplicationOptions,
) => NestFastifyApplication | Promise<NestFastifyApplication>;

/**
 * Builds the whole application, without listening. A test passes the testing module's own
 * `(adapter, options) => module.createNestApplication(adapter, options)` and meets the same stack as the service.
 */
export async function createApp(
  config: Config,
  create: CreateNest = fromModules(config),
): Promise<NestFastifyApplication> {
  const log = createLog(config);
  const connections = new Connections(limitsOf(config));
  const adapter = createAdapter(config, connections);
  const app: NestFastifyApplication = await create(adapter, {
    bodyParser: false,
    abortOnError: false,
    logger: new NestLogger(log),
  });
  addHooks(adapter.getInstance<FastifyInstance>(), app, connections, log);
  if (config.corsOrigins !== undefined) app.enableCors({ delegator: cors(config.corsOrigins) });
  if (config.servesDocs) serveDocs(app);
  return app;
}

function fromModules(config: Config): CreateNest {
  return (adapter, options) => NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config), adapter, options);
}

function limitsOf(config: Config): ConnectionLimits {
  return { ...config.http, proxies: trustedProxies(config.trustProxy), keepAliveTimeout: KEEP_ALIVE_TIMEOUT };
}

function createAdapter(config: Config, connections: Connections): FastifyAdapter {
  return new ErrorAdapter({
    genReqId: requestId,
    trustProxy: config.trustProxy,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    serverFactory: connections.serverFactory,
    // While the service stops, it still serves requests on open connections and then closes them.
    return503OnClosing: false,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      sendProtocolError(error, request, reply),
    clientErrorHandler: connections.clientErrorHandler,
  });
}

/** Hooks run in the order in which they are added. */
function addHooks(fastify: FastifyInstance, app: NestFastifyApplication, connections: Connections, log: Logger): void {
  trackResponses(fastify, connections);
  connections.requests.onEnd(logRequests(log));
  measureConnections(app.get(Metrics, { strict: false }).registry, connections);
  addResponseHeaders(fastify);
  closeConnectionsWhileStopping(fastify, app.get(Lifecycle, { strict: false }));
  respondToUnroutedRequests(fastify);
  readRawBodies(fastify);
}

function closeConnectionsWhileStopping(fastify: FastifyInstance, lifecycle: Lifecycle): void {
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    if (lifecycle.isStopping) reply.header('connection', 'close');
    done(null, payload);
  });
}

function cors(origin: string[]): FastifyCorsOptionsDelegateCallback {
  const options = {
    origin,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'X-Request-Id'],
    exposedHeaders: ['ETag', 'Link', 'Location', 'X-Request-Id', 'X-Total-Count'],
    maxAge: 600,
  };
  // The plugin takes every OPTIONS for a preflight; one without these two fields asks for the methods of the path.
  return ({ headers }, callback) => {
    // If one of them is empty, the plugin would send a 400 in another format.
    const preflight = Boolean(headers.origin && headers['access-control-request-method']);
    callback(null, { ...options, preflight });
  };
}
