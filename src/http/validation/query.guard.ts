import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import type { FastifyRequest } from 'fastify';
import { type ApiError, invalidRequest } from '../errors/api-error.js';
import { HandlerCache } from '../routing/handler-cache.js';

/**
 * Rejects with 400 the parameters that a route does not declare, so that a misspelt or misplaced one is noticed. A route
 * that takes the whole query as a DTO leaves it to the validation of that class.
 */
@Injectable()
export class QueryGuard implements CanActivate {
  private readonly declared = new HandlerCache((context) =>
    parametersOf(context.getClass(), context.getHandler().name),
  );

  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest<FastifyRequest<{ Querystring: Record<string, unknown> }>>();
    for (const name in query) {
      const declared = this.declared.get(context);
      if (declared === 'all') return true;
      if (declared.has(name)) continue;
      throw unknownParameter(name, declared);
    }
    return true;
  }
}

/** 400 for a parameter that a route does not declare. */
export function unknownParameter(name: string, declared: ReadonlySet<string> = new Set()): ApiError {
  const known = declared.size > 0 ? `known are ${[...declared].join(', ')}` : 'this route takes no parameters';
  return invalidRequest([{ parameter: name, message: `is not known here; ${known}` }]);
}

/** The names in the `@Query('name')` of a handler; "all" when it has a `@Query()` without a name. */
function parametersOf(controller: object, handler: string): ReadonlySet<string> | 'all' {
  const metadata = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) ?? {}) as Record<
    string,
    { data?: string }
  >;
  const queries = Object.entries(metadata).filter(([key]) => key.startsWith(`${RouteParamtypes.QUERY}:`));
  const names = queries.map(([, { data }]) => data);
  return names.includes(undefined) ? 'all' : new Set(names as string[]);
}
