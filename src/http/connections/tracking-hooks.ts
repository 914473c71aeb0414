import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { overloaded } from '../errors/api-error.js';
import { errorResponse } from '../errors/error-response.js';
import type { Connections } from './connections.js';
import { hasArrived, TrackedResponse } from './request-tracker.js';

/** Bytes of a body that is sent even when memory is short: enough for a record or a short page. */
const SMALL_BODY = 16_384;

/** Links each response to Fastify's reply, and counts the bytes that its body buffers. */
export function trackResponses(app: FastifyInstance, connections: Connections): void {
  app.addHook('onRequest', (_request, reply, done) => {
    (reply.raw as TrackedResponse).reply = reply;
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const response = reply.raw;
    // `app.inject()` has no connection.
    if (!(response instanceof TrackedResponse)) return done(null, payload);
    // Nest sends a CORS preflight before the hook above.
    response.reply = reply;
    response.isAnswered = true;
    if (response.req.socket.destroyed) {
      // A stream that will not be sent must release its file or database snapshot.
      (payload as Partial<Readable> | null | undefined)?.destroy?.();
      connections.requests.end(response, 'cut off');
      // Not `null`, because Fastify's hook for HEAD reads the payload.
      return done(null, '');
    }
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    connections.requests.countBuffered(response, bytes);
    // The response to a write is sent even then: a 503 would hide the change from the client.
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const fits = bytes <= SMALL_BODY || connections.freeMemory() || !isRead;
    if (!fits) connections.requests.countBuffered(response, 0);
    const sent = fits ? payload : rejection(reply);
    // A client without permission need not send the rest of its body, and the rest of a large body costs time.
    const endsEarly = reply.statusCode === 401 || reply.statusCode === 403 || request.rawResponse !== undefined;
    if (connections.isClosing || (endsEarly && !hasArrived(response.req))) reply.header('connection', 'close');
    done(null, sent);
  });
}

/** Header fields that describe a body. Others, such as those of CORS and of rate limits, hold for a 503, too. */
const OF_BODY = /^(?:content-.*|etag|last-modified|link|x-total-count)$/;

/** Replaces the large response to a read by a 503. */
function rejection(reply: FastifyReply): string {
  const message = 'Too many unread responses are in memory; try again';
  const { status, headers, body } = errorResponse(overloaded(message), reply.request.id);
  for (const name of Object.keys(reply.getHeaders())) if (OF_BODY.test(name)) reply.removeHeader(name);
  reply.code(status).headers(headers);
  return JSON.stringify(body);
}
