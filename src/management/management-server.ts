import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { Config } from '../config/config.js';
import { Health } from './health.js';
import { createManagementServer } from './management-routes.js';
import { Metrics } from './metrics.js';

/**
 * The management port of an application that is alone; that of several workers is in their primary. It opens before the
 * API and closes after it: while the API drains, `/health/ready` still says so.
 */
@Injectable()
export class ManagementServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly server?: FastifyInstance;

  constructor(
    private readonly config: Config,
    health: Health,
    { registry }: Metrics,
  ) {
    if (config.worker !== undefined) return;
    this.server = createManagementServer(config, {
      contentType: registry.contentType,
      isLive: () => Promise.resolve(true),
      readiness: () => health.readiness(),
      metrics: () => registry.metrics(),
    });
  }

  /** Where it listens, such as `http://127.0.0.1:3001`; known once the application has started. */
  get url(): string {
    return this.server!.listeningOrigin;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.server?.listen({ host: this.config.host, port: this.config.managementPort });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.server?.close();
  }
}
