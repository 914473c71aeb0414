import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { ApiError } from './api-error.js';
import { sendError } from './error.filter.js';

/** What every answer carries, and the one thing every HTTP/1.1 request must (RFC 9112 section 3.2). */
export function addResponseHeaders(app: FastifyInstance): void {
  // When it is sent, not when the request comes: a CORS preflight is answered before the hooks of this service.
  app.addHook('onSend', ({ id, method }, reply, payload, done) => {
    reply.header('x-request-id', id).header('x-content-type-options', 'nosniff');
    // Neither 204 nor 304 tells a length of content that it does not have (RFC 9110 section 8.6).
    if (reply.statusCode === 204) reply.removeHeader('content-length');
    // Fastify counts no content as 0 bytes on HEAD, but does not count a stream.
    done(null, reply.statusCode === 304 && method === 'HEAD' ? Readable.from([]) : payload);
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, httpVersion } = request.raw;
    const { host } = headers;
    if (host === undefined ? httpVersion === '1.1' : host.includes(',')) {
      return sendError(
        new ApiError(400, 'BAD_REQUEST', 'The request must have exactly one Host header'),
        request,
        reply,
      );
    }
    done();
  });
}
