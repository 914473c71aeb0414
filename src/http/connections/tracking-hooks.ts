import type { FastifyInstance, FastifyReply } from 'fastify';
import { overloaded } from '../errors/api-error.js';
import { errorResponse } from '../errors/error-response.js';
import type { Connections } from './connections.js';
import { hasArrived, TrackedResponse } from './tracked-response.js';

/** Bytes of a body that is sent however little memory is left: what a record or a short page takes. */
const SMALL_BODY = 16_384;

/** Lets the connections know Fastify's side of each request, and counts what its response holds in memory. */
export function trackResponses(app: FastifyInstance, connections: Connections): void {
  app.addHook('onRequest', (_request, reply, done) => {
    (reply.raw as TrackedResponse).reply = reply;
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    const response = reply.raw;
    // `app.inject()` has no connection.
    if (!(response instanceof TrackedResponse)) return done(null, payload);
    response.isAnswered = true;
    // Who may not do it need not send the rest, and makes room for others.
    const isRefused = reply.statusCode === 401 || reply.statusCode === 403;
    if (isRefused && !hasArrived(response.req)) reply.header('connection', 'close');
    if (response.httpConnection.hasClosed) {
      discard(payload);
      connections.requests.endOrphan(response);
      return done(null, null);
    }
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    connections.requests.countBuffered(response, bytes);
    if (bytes <= SMALL_BODY || connections.relieve()) return done(null, payload);
    connections.requests.countBuffered(response, 0);
    done(null, rejection(reply));
  });
}

/** Only reading gives large bodies, so that nothing has been done which the client must learn of. */
function rejection(reply: FastifyReply): string {
  const message = 'The service holds as many unread responses as it may; try again';
  const { status, headers, body } = errorResponse(overloaded(message), reply.request.id);
  for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
  reply.code(status).headers(headers);
  return JSON.stringify(body);
}

/** Nobody will read it: what it holds open, such as a file or a snapshot of the database, is given back. */
function discard(payload: unknown): void {
  const { destroy } = (payload ?? {}) as { destroy?: () => void };
  if (typeof destroy === 'function') destroy.call(payload);
}
