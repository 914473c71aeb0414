import { STATUS_CODES } from 'node:http';
import { protocolErrorResponse } from '../errors/error-response.js';
import { requestId } from '../messages/request-id.js';
import type { TrackedResponse } from './tracked-response.js';

/** Responds to a request in place of its handler, and closes the connection: what follows on it may not be what it seems. */
export function sendRejection(response: TrackedResponse, error: Error): void {
  const { reply, req } = response;
  const { status, headers, content } = serialized(error, reply?.request.id ?? requestId(req));
  response.writeHead(status, headers).end(req.method === 'HEAD' ? undefined : content);
}

/** A response without Node's own object for it. */
export function rawResponse(error: Error, id: string): string {
  const { status, headers, content } = serialized(error, id);
  const lines = Object.entries({ ...headers, date: new Date().toUTCString() });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${content}`;
}

function serialized(error: Error, id: string) {
  const { status, headers, body } = protocolErrorResponse(error, id);
  const content = JSON.stringify(body);
  return {
    status,
    content,
    headers: { ...headers, 'content-length': String(Buffer.byteLength(content)), connection: 'close' },
  };
}
