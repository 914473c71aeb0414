import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.js';
import { errorResponse } from './error-response.js';
import { newRequestId } from './request-id.js';

/** Answers what Node's parser refuses: there is no request object yet, only a socket. */
export function answerParserError(error: Error & { code?: string }, socket: Duplex): void {
  // ECONNRESET and the like: the client is gone.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  answerOnSocket(error, socket);
}

/** Answers the two things that Node keeps from request handlers: CONNECT and an `Expect` that cannot be met. */
export function answerUnusualRequests(server: Server): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    answerOnSocket(
      new ApiError(405, 'METHOD_NOT_ALLOWED', 'This server is no proxy; CONNECT is not supported'),
      socket,
    );
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const message = 'The expectation in the Expect header cannot be met; only 100-continue is known';
    const { status, headers, body } = errorResponse(new ApiError(417, 'EXPECTATION_FAILED', message), newRequestId());
    response.writeHead(status, { ...headers, connection: 'close' }).end(JSON.stringify(body));
  });
}

function answerOnSocket(error: Error, socket: Duplex): void {
  const { status, headers, body } = errorResponse(error, newRequestId());
  const content = JSON.stringify(body);
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(content), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${content}`);
}
