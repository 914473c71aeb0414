import { STATUS_CODES } from 'node:http';
import { protocolErrorResponse } from '../errors/error-response.js';
import type { TrackedResponse } from './tracked-response.js';

/** Sends an error instead of the handler's response and closes the connection, since later bytes cannot be trusted. */
export function sendRejection(response: TrackedResponse, error: Error): void {
  const { status, headers, content } = serialized(error, response.requestId);
  response.writeHead(status, headers).end(response.req.method === 'HEAD' ? undefined : content);
}

/** The text of an error response, for a socket that has no `ServerResponse`. */
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
