import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type ApiError, invalidRequest } from '../errors/api-error.js';
import { argumentsOf } from '../routing/handlers.js';

/**
 * Rejects with 400 the parameters that a route does not declare, so that a misspelt or misplaced one is noticed. A route
 * that takes the whole query as a DTO leaves it to the validation of that class.
 */
@Injectable()
export class QueryGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest<FastifyRequest<{ Querystring: Record<string, unknown> }>>();
    const names = Object.keys(query);
    if (names.length === 0) return true;
    const declared = parametersOf(context);
    if (declared === 'all') return true;
    const stray = names.find((name) => !declared.has(name));
    if (stray !== undefined) throw unknownParameter(stray, declared);
    return true;
  }
}

/** 400 for a parameter that a route does not declare. */
export function unknownParameter(name: string, declared: ReadonlySet<string> = new Set()): ApiError {
  const known = declared.size > 0 ? `known are ${[...declared].join(', ')}` : 'this route takes no parameters';
  return invalidRequest([{ parameter: name, message: `is not known here; ${known}` }]);
}

/** The names in the `@Query('name')` of a handler; "all" when it has a `@Query()` without a name. */
function parametersOf(context: ExecutionContext): ReadonlySet<string> | 'all' {
  const queries = argumentsOf(context.getClass(), context.getHandler().name).filter(
    ({ decorator }) => decorator === 'Query',
  );
  const names = queries.map(({ name }) => name);
  return names.includes(undefined) ? 'all' : new Set(names as string[]);
}
