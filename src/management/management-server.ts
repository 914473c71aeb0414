import cluster from 'node:cluster';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { Config } from '../config/config.js';
import { Health } from './health.js';
import { createManagementServer } from './management-routes.js';
import { Metrics } from './metrics.js';

/** The port opens before the API port and closes after it: `/health/ready` responds while a single process stops. */
@Injectable()
export class ManagementServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly server?: FastifyInstance;

  constructor(
    private readonly config: Config,
    health: Health,
    { registry }: Metrics,
    private readonly api: HttpAdapterHost,
  ) {
    if (config.workers > 1 && cluster.isWorker) return;
    this.server = createManagementServer(config, {
      isLive: () => Promise.resolve(true),
      readiness: () => health.readiness(),
      metrics: () => Promise.resolve(registry),
    });
  }

  /** The address, such as `http://127.0.0.1:3001`; available when the application has started. */
  get url(): string {
    return this.server!.listeningOrigin;
  }

  async onApplicationBootstrap(): Promise<void> {
    // An application context has no adapter: as a program beside the service, it leaves the port to the service.
    if ((this.api.httpAdapter as AbstractHttpAdapter | null) === null) return;
    const { host, managementHost = host, managementPort: port } = this.config;
    await this.server?.listen({ host: managementHost, port });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.server?.close();
  }
}
