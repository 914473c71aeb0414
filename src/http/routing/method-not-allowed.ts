import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import FindMyWay from 'find-my-way';
import { ApiError } from '../errors/api-error.js';
import { sendError } from '../errors/error.filter.js';

/** What methods each path pattern has, learned as the routes are registered. */
interface KnownPath {
  readonly methods: Set<string>;
}

/** Where PATCH takes a merge patch beside plain JSON (RFC 5789 section 3.1). */
export const ACCEPT_PATCH = 'application/json, application/merge-patch+json';

/**
 * Responds to requests that no route takes, before any token is asked for: OPTIONS with 204 and `Allow`, another method of
 * a known path with 405, the rest with 404.
 */
export function respondToUnroutedRequests(app: FastifyInstance): void {
  const router = FindMyWay({ maxParamLength: MAX_PARAM_LENGTH });
  const paths = new Map<string, KnownPath>();

  app.addHook('onRoute', ({ url, method }) => {
    if (url === EVERYTHING) return;
    let path = paths.get(url);
    if (path === undefined) {
      path = { methods: new Set(['OPTIONS']) };
      paths.set(url, path);
      router.on('GET', url, () => {}, path);
    }
    for (const name of [method].flat()) path.methods.add(name);
  });

  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    const { url = '/' } = request.raw;
    const isRouted = !request.is404 && request.routeOptions.url !== EVERYTHING;
    if (isRouted && !(ENDS_IN_SLASH.test(url) && hasEmptyParameter(request.params))) return done();
    const match = router.find('GET', url);
    const path = match === null || hasEmptyParameter(match.params) ? undefined : (match.store as KnownPath);
    if (path === undefined) {
      return sendError(new ApiError(404, 'NOT_FOUND', 'There is nothing at this path'), request, reply);
    }
    const allow = [...path.methods].sort().join(', ');
    if (request.method === 'OPTIONS') {
      reply.code(204).header('allow', allow);
      if (path.methods.has('PATCH')) reply.header('accept-patch', ACCEPT_PATCH);
      reply.send();
      return;
    }
    const message = `${request.method} is not possible here; the path has ${allow}`;
    sendError(new ApiError(405, 'METHOD_NOT_ALLOWED', message, { headers: { allow } }), request, reply);
  });
}

/** The pattern under which the CORS plugin takes preflights of all paths; those never get here. */
const EVERYTHING = '*';

/** Longer than any header section that Node accepts, so that a long id is a wrong id, not an unknown route. */
export const MAX_PARAM_LENGTH = 65_536;

/** Only there a parameter may be empty: the router takes `/orders/` for `/orders/:id`. */
const ENDS_IN_SLASH = /\/(?:[?#]|$)/;

function hasEmptyParameter(params: unknown): boolean {
  return Object.values(params as object).includes('');
}
