import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import FindMyWay, { type HTTPMethod } from 'find-my-way';
import { acceptedTypes } from '../body/raw-body.js';
import { ApiError } from '../errors/api-error.js';
import { sendError } from '../errors/error.filter.js';
import { standardError } from '../errors/error-response.js';

/** The pattern under which the CORS plugin registers preflights of all paths. */
const PREFLIGHTS = '*';

/** Limit above the length of any header section, so that a long id is an invalid id and not an unknown route. */
export const MAX_PARAM_LENGTH = 65_536;

/** A path that ends in a slash. The router matches `/orders/` to `/orders/:id` with an empty id. */
const ENDS_IN_SLASH = /\/(?:[?#]|$)/;

/** Handles requests without a route, before authentication: 204 for OPTIONS, 405 for a known path, 404 for others. */
export function respondToUnroutedRequests(app: FastifyInstance): void {
  const router = FindMyWay({ maxParamLength: MAX_PARAM_LENGTH });

  app.addHook('onRoute', ({ url, method }) => {
    if (url === PREFLIGHTS) return;
    for (const name of [method].flat() as HTTPMethod[]) {
      // Routes that differ only in constraints, such as a version, have one entry.
      if (router.findRoute(name, url) === null) router.on(name, url, () => {});
    }
  });

  const methodsOf = (url: string): string[] =>
    METHODS.filter((method) => {
      const match = router.find(method as HTTPMethod, url);
      return match !== null && !hasEmptyParameter(match.params);
    });

  app.addHook('onRequest', (request, reply, done) => {
    const { url = '/' } = request.raw;
    const isRouted = !request.is404 && request.routeOptions.url !== PREFLIGHTS;
    if (isRouted && !(ENDS_IN_SLASH.test(url) && hasEmptyParameter(request.params))) return done();
    const found = methodsOf(url);
    const isOptions = request.method === 'OPTIONS';
    // A route of the method may have other constraints, such as a version.
    const isUnknown = found.length === 0 || (!isOptions && found.includes(request.method));
    if (isUnknown) return sendError(standardError(404), request, reply);
    const allow = [...new Set([...found, 'OPTIONS'])].sort().join(', ');
    if (isOptions) {
      reply.code(204).header('allow', allow);
      if (found.includes('PATCH')) reply.header('accept-patch', acceptedTypes('PATCH').join(', '));
      reply.send();
      return;
    }
    const message = `${request.method} is not allowed on this path; allowed are ${allow}`;
    sendError(new ApiError(405, 'METHOD_NOT_ALLOWED', message, { headers: { allow } }), request, reply);
  });
}

/** A wildcard may be empty: `/pages/` is the index of `/pages/*`. */
function hasEmptyParameter(params: unknown): boolean {
  return Object.entries(params as object).some(([name, value]) => value === '' && name !== '*');
}
