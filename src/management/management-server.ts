import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import fastify, { type FastifyInstance } from 'fastify';
import { Config } from '../config/config.js';
import { Connections } from '../http/connections/connections.js';
import { trackResponses } from '../http/connections/tracking-hooks.js';
import { sendProtocolError } from '../http/errors/error.filter.js';
import { addResponseHeaders } from '../http/messages/response-headers.js';
import { respondToUnroutedRequests } from '../http/routing/method-not-allowed.js';
import { requestId } from '../http/messages/request-id.js';
import { Health } from './health.js';
import { Metrics } from './metrics.js';

/** Probes and scrapers are few, and their responses small. */
const LIMITS = {
  connections: 200,
  connectionsPerAddress: 200,
  bufferedBytes: 8 * 1024 * 1024,
  // Longer than the intervals at which they come.
  keepAliveTimeout: 75_000,
} as const;

/**
 * Health and metrics on a port of their own, so that they are never published with the API. It opens before the API and
 * closes after it: while the API drains, `/health/ready` still says so.
 */
@Injectable()
export class ManagementServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly server: FastifyInstance;

  constructor(
    private readonly config: Config,
    health: Health,
    metrics: Metrics,
  ) {
    const connections = new Connections({ ...config.http, ...LIMITS });
    const server = fastify({
      genReqId: requestId,
      forceCloseConnections: true,
      serverFactory: connections.serverFactory,
      clientErrorHandler: connections.clientErrorHandler,
      frameworkErrors: (error, request, reply) => sendProtocolError(error, request, reply),
    });
    this.server = server;
    server.setErrorHandler(sendProtocolError);
    trackResponses(server, connections);
    addResponseHeaders(server);
    respondToUnroutedRequests(server);
    server.get('/health/live', (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'live' }));
    server.get('/health/ready', async (_request, reply) => {
      const { ready, checks } = await health.readiness();
      return reply
        .code(ready ? 200 : 503)
        .headers({ 'cache-control': 'no-store', ...(!ready && { 'retry-after': '1' }) })
        .send({ status: ready ? 'ready' : 'not ready', checks });
    });
    server.get('/metrics', async (_request, reply) =>
      reply
        .headers({ 'content-type': metrics.registry.contentType, 'cache-control': 'no-store' })
        .send(await metrics.registry.metrics()),
    );
  }

  /** Where it listens, such as `http://127.0.0.1:3001`; known once the application has started. */
  get url(): string {
    return this.server.listeningOrigin;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.server.listen({ host: this.config.host, port: this.config.managementPort });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.server.close();
  }
}
