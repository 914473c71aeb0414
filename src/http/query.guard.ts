import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import type { FastifyRequest } from 'fastify';
import { invalidRequest } from './api-error.js';

/** A route that declares no `@Query()` takes no parameters, so that a misspelt or misplaced one is noticed: 400. */
@Injectable()
export class QueryGuard implements CanActivate {
  private readonly declaring = new WeakMap<object, boolean>();

  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest<FastifyRequest<{ Querystring: Record<string, unknown> }>>();
    for (const name in query) {
      if (this.declaresQuery(context)) return true;
      throw invalidRequest([{ parameter: name, message: 'is not known here; this route takes no parameters' }]);
    }
    return true;
  }

  private declaresQuery(context: ExecutionContext): boolean {
    const handler = context.getHandler();
    let declares = this.declaring.get(handler);
    if (declares === undefined) {
      const metadata = Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), handler.name) as object | undefined;
      declares = Object.keys(metadata ?? {}).some((key) => key.startsWith(`${RouteParamtypes.QUERY}:`));
      this.declaring.set(handler, declares);
    }
    return declares;
  }
}
