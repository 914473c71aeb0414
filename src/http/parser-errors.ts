import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.js';
import { errorResponse } from './error-response.js';
import { newRequestId, requestId } from './request-id.js';

/** The newest request on each connection that has one, by its answer. */
const newest = new WeakMap<Duplex, ServerResponse>();

/** Answers what Node's parser refuses: there is no request object yet, only a socket. */
export function answerParserError(error: Error & { code?: string }, socket: Duplex): void {
  // ECONNRESET and the like: the client is gone.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  // What was asked before the nonsense is answered before it: it may have been done already.
  const pending = newest.get(socket);
  if (pending?.req.complete && !pending.writableFinished) pending.once('finish', () => answerOnSocket(error, socket));
  else answerOnSocket(error, socket);
}

/** Answers what Node keeps from request handlers: CONNECT, and an `Expect` that cannot be met. */
export function answerUnusualRequests(server: Server): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    newest.set(request.socket, response);
  });
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    const message = 'This server is no proxy; CONNECT is not possible';
    const allow = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT';
    answerOnSocket(
      new ApiError(405, 'METHOD_NOT_ALLOWED', message, { headers: { allow } }),
      socket,
      requestId(request),
    );
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const message = 'The expectation in the Expect header cannot be met; only 100-continue is known';
    const error = new ApiError(417, 'EXPECTATION_FAILED', message);
    const { status, headers, body } = errorResponse(error, requestId(request));
    response.writeHead(status, { ...headers, connection: 'close' }).end(JSON.stringify(body));
  });
}

function answerOnSocket(error: Error, socket: Duplex, id = newRequestId()): void {
  const { status, headers, body } = errorResponse(error, id);
  const content = JSON.stringify(body);
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(content), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${content}`);
}
