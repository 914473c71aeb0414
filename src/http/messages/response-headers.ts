import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/** What every response carries. */
export function addResponseHeaders(app: FastifyInstance): void {
  // When it is sent, not when the request comes: a CORS preflight has its response before the hooks of this service run.
  app.addHook('onSend', ({ id, method }, reply, payload, done) => {
    reply.header('x-request-id', id).header('x-content-type-options', 'nosniff');
    // Neither 204 nor 304 tells a length of content that it does not have (RFC 9110 section 8.6).
    if (reply.statusCode === 204) reply.removeHeader('content-length');
    // Fastify counts no content as 0 bytes on HEAD, but does not count a stream.
    done(null, reply.statusCode === 304 && method === 'HEAD' ? Readable.from([]) : payload);
  });
}
