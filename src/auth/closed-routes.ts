import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { Config } from '../config/config.js';
import { handlersOf } from '../http/routing/handlers.js';
import { accessOf } from './scopes.decorator.js';

/** Logs a warning at start for each route with neither `@Scopes()` nor `@Public()`, which is 403 for every token. */
@Injectable()
export class ClosedRoutes implements OnApplicationBootstrap {
  private readonly logger = new Logger('Routes');

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly reflector: Reflector,
    private readonly config: Config,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.worker?.isFirst === false) return;
    for (const { controller, handler, name } of handlersOf(this.discovery)) {
      if (accessOf(this.reflector, handler, controller) === undefined) {
        this.logger.warn(`${name} has neither @Scopes() nor @Public(): it is 403 for everyone`);
      }
    }
  }
}
