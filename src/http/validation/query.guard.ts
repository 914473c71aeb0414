import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type ApiError, invalidRequest } from '../errors/api-error.js';
import { argumentsOf, methodOf } from '../routing/handlers.js';

/** Rejects undeclared query parameters with 400. */
@Injectable()
export class QueryGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (context.getType() !== 'http') return true;
    const { query } = context.switchToHttp().getRequest<FastifyRequest<{ Querystring: Record<string, unknown> }>>();
    const names = Object.keys(query);
    if (names.length === 0) return true;
    const method = methodOf(context.getClass(), context.getHandler());
    if (method === undefined) return true;
    const queries = argumentsOf(context.getClass(), method).filter(({ decorator }) => decorator === 'Query');
    const declared = new Set(queries.map(({ name }) => name));
    // A `@Query()` without a name has a class, whose validation rejects unknown parameters.
    if (declared.has(undefined)) return true;
    const unknown = names.find((name) => !declared.has(name));
    if (unknown !== undefined) throw unknownParameter(unknown, declared);
    return true;
  }
}

/** 400 for a parameter that a route does not declare. */
export function unknownParameter(name: string, declared: ReadonlySet<string | undefined> = new Set()): ApiError {
  const known = declared.size > 0 ? `known are ${[...declared].join(', ')}` : 'this route takes no parameters';
  return invalidRequest([{ parameter: name, message: `is not known here; ${known}` }]);
}
