import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

export const commonHeaders = (requestId: string): Readonly<Record<string, string>> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
});

/** The values that `JwtAuthGuard` sets before the handler runs. */
const DEFAULT_CACHE_CONTROL = /^(?:public|private), no-cache$/;

export function addResponseHeaders(app: FastifyInstance): void {
  app.addHook('onSend', ({ id, method }, reply, payload, done) => {
    reply.headers(commonHeaders(id));
    // An error that a filter or a handler of a feature sends itself is not stored either.
    if (reply.statusCode >= 400 && DEFAULT_CACHE_CONTROL.test(String(reply.getHeader('cache-control')))) {
      reply.header('cache-control', 'no-store');
    }
    // A 204 or 304 must not have the length of an absent body (RFC 9110 section 8.6).
    if (reply.statusCode === 204) reply.removeHeader('content-length');
    // On HEAD, Fastify sets the length of an empty body to 0, but not of a stream.
    done(null, reply.statusCode === 304 && method === 'HEAD' ? Readable.from([]) : payload);
  });
}
