import type { FastifyInstance } from 'fastify';
import { ApiError } from './api-error.js';

/** What every answer carries, and the one thing every HTTP/1.1 request must (RFC 9112 section 3.2). */
export function addResponseHeaders(app: FastifyInstance): void {
  // When it is sent, not when the request comes: a CORS preflight is answered before the hooks of this service.
  app.addHook('onSend', ({ id }, reply, payload, done) => {
    reply.header('x-request-id', id).header('x-content-type-options', 'nosniff');
    done(null, payload);
  });
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    if (raw.headers.host === undefined && raw.httpVersion === '1.1') {
      return done(new ApiError(400, 'BAD_REQUEST', 'The Host header is missing'));
    }
    done();
  });
}
