import type { FastifyRequest } from 'fastify';

/** The pattern of the request's route, such as `/orders/:id`; `unknown` if no route matches. */
export function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
}
