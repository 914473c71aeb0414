import { safeParse } from 'fast-content-type-parse';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AcceptedBody } from './accepts-body.decorator.js';
import { BODY_LIMIT } from './body-limit.js';
import { RawBody, tooLarge } from './raw-body.js';

const DEFAULT: AcceptedBody = { limit: BODY_LIMIT };

/** Makes Fastify pass every body on as an unread `RawBody`. A Content-Length above the limit of the route is 413. */
export function readRawBodies(app: FastifyInstance): void {
  app.decorateRequest('mediaTypeOfBody', undefined);
  app.decorateRequest('rawResponse', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, stream, done) => {
    const accepted = request.routeOptions.config.acceptedBody ?? DEFAULT;
    if (Number(request.headers['content-length']) > accepted.limit) return done(tooLarge(accepted.limit));
    done(null, new RawBody(stream, request, accepted));
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { headers } = request.raw;
    const given = headers['content-type'];
    // Fastify sends 415 for a malformed media type before the guards, so it gets a well-formed media type.
    if (given !== undefined) {
      request.mediaTypeOfBody = safeParse(given);
      headers['content-type'] = request.mediaTypeOfBody.type || 'application/octet-stream';
    }
    if (request.routeOptions.config?.acceptedBody !== undefined) request.rawResponse = reply.raw;
    done();
  });
  parseForPlugins(app);
}

/** Parses the bodies of routes that an encapsulated plugin adds, such as mercurius: Nest runs no pipe for them. */
function parseForPlugins(app: FastifyInstance): void {
  const parse = async (request: FastifyRequest): Promise<void> => {
    if (request.body instanceof RawBody) request.body = await request.body.json();
  };
  app.addHook('onRoute', function (route) {
    if (this !== app) route.preValidation = [parse, ...[route.preValidation ?? []].flat()];
  });
}
