import type { FastifyInstance } from 'fastify';
import FindMyWay from 'find-my-way';
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

/** Names of parameters in a pattern. Routes of different methods may give different names to one parameter. */
const PARAMETER_NAME = /(?<=(?<!:):)(?!:)[^/.(:-]+/g;

const nothingHere = (): ApiError => standardError(404);

/** Handles requests without a route, before authentication: 204 for OPTIONS, 405 for a known path, 404 for others. */
export function respondToUnroutedRequests(app: FastifyInstance): void {
  const router = FindMyWay({ maxParamLength: MAX_PARAM_LENGTH });
  /** The methods of each path pattern. */
  const methodsOf = new Map<string, Set<string>>();

  app.addHook('onRoute', ({ url: pattern, method }) => {
    if (pattern === PREFLIGHTS) return;
    const url = pattern.replaceAll(PARAMETER_NAME, 'p');
    let methods = methodsOf.get(url);
    if (methods === undefined) {
      methods = new Set(['OPTIONS']);
      methodsOf.set(url, methods);
      router.on('GET', url, () => {}, methods);
    }
    for (const name of [method].flat()) methods.add(name);
  });

  app.addHook('onRequest', (request, reply, done) => {
    const { url = '/' } = request.raw;
    const isRouted = !request.is404 && request.routeOptions.url !== PREFLIGHTS;
    if (isRouted && !(ENDS_IN_SLASH.test(url) && hasEmptyParameter(request.params))) return done();
    const match = router.find('GET', url);
    if (match === null || hasEmptyParameter(match.params)) {
      return sendError(nothingHere(), request, reply);
    }
    const methods = match.store as Set<string>;
    // A route of the method has other constraints, such as a version.
    if (methods.has(request.method) && request.method !== 'OPTIONS') return sendError(nothingHere(), request, reply);
    const allow = [...methods].sort().join(', ');
    if (request.method === 'OPTIONS') {
      reply.code(204).header('allow', allow);
      if (methods.has('PATCH')) reply.header('accept-patch', acceptedTypes('PATCH').join(', '));
      reply.send();
      return;
    }
    const message = `${request.method} is not possible here; the path has ${allow}`;
    sendError(new ApiError(405, 'METHOD_NOT_ALLOWED', message, { headers: { allow } }), request, reply);
  });
}

function hasEmptyParameter(params: unknown): boolean {
  return Object.values(params as object).includes('');
}
