import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { LiveConfig } from '../database/polling/live-config.js';
import { type ApiError, invalidRequest, overloaded } from './errors/api-error.js';
import { isWriteCall } from './messages/request.js';
import { argumentsOf, methodOf } from './routing/handlers.js';

/** Seconds after which a client may repeat a write that was rejected during maintenance. */
const RETRY_AFTER = 30;

/** Rejects calls that may write in maintenance (503) and undeclared query parameters (400), after the token check. */
@Injectable()
export class RequestGuard implements CanActivate {
  constructor(private readonly live: LiveConfig) {}

  canActivate(context: ExecutionContext): true {
    if (this.live.current.maintenance && isWriteCall(context)) throw inMaintenance();
    if (context.getType() === 'http') requireDeclaredParameters(context);
    return true;
  }
}

function requireDeclaredParameters(context: ExecutionContext): void {
  const { query } = context.switchToHttp().getRequest<FastifyRequest<{ Querystring: Record<string, unknown> }>>();
  const names = Object.keys(query);
  const method = names.length === 0 ? undefined : methodOf(context.getClass(), context.getHandler());
  if (method === undefined) return;
  const queries = argumentsOf(context.getClass(), method).filter(({ decorator }) => decorator === 'Query');
  const declared = new Set(queries.map(({ name }) => name));
  // A `@Query()` without a name has a class, whose validation rejects unknown parameters.
  const unknown = declared.has(undefined) ? undefined : names.find((name) => !declared.has(name));
  if (unknown !== undefined) throw unknownParameter(unknown, declared);
}

export function unknownParameter(name: string, declared: ReadonlySet<string | undefined> = new Set()): ApiError {
  const known = declared.size > 0 ? `known are ${[...declared].join(', ')}` : 'this route takes no parameters';
  return invalidRequest([{ parameter: name, message: `is not known here; ${known}` }]);
}

export function inMaintenance(): ApiError {
  const message = 'The service is in maintenance: records can be read, but not changed; try again later';
  return overloaded(message, 'MAINTENANCE', RETRY_AFTER);
}
