import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { ApiError, invalidHost, MAX_HEADER_FIELDS, tooManyFields } from '../errors/api-error.js';
import { errorResponse, standardError } from '../errors/error-response.js';
import { currentPacket } from './node-internals.js';
import type { TrackedResponse } from './request-tracker.js';

/** A name or an IP address, IPv6 in brackets, with an optional port (RFC 9112 section 3.2, RFC 3986 section 3.2.2). */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/** One expectation, which several fields may repeat (RFC 9110 section 10.1.1). */
const CONTINUE = /^100-continue(?:\s*,\s*100-continue)*$/i;

const CROWDED = 'Too many HTTP/1.0 requests wait on this connection; wait for their responses, or use HTTP/1.1';

/**
 * The error of a request that is invalid HTTP; `undefined` if it is valid.
 * @param isCrowded whether the most requests that may wait for their response wait before it
 */
export function protocolError(request: IncomingMessage, isCrowded: boolean): ApiError | undefined {
  const { headers, httpVersionMajor, httpVersionMinor } = request;
  // The search for another protocol reads the whole packet, for each of its thousands of requests.
  if (isCrowded && httpVersionMinor === 0) return new ApiError(400, 'BAD_REQUEST', CROWDED);
  if (httpVersionMajor !== 1 || isAnotherProtocol(request)) return standardError(505);
  if (request.rawHeaders.length > 2 * MAX_HEADER_FIELDS) return tooManyFields();
  const { host, expect, 'transfer-encoding': coding } = headers;
  if (host === undefined ? httpVersionMinor === 1 : !HOST.test(host)) return invalidHost();
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return standardError(501);
  const isUnknown = expect !== undefined && httpVersionMinor === 1 && !CONTINUE.test(expect);
  return isUnknown ? standardError(417) : undefined;
}

/**
 * Whether the connection must close after a request. The end of a chunked HTTP/1.0 body is uncertain (RFC 9112 section
 * 6.1). After an `Upgrade`, which is ignored here, Node's parser drops the rest of the packet.
 */
export function isLastOfConnection({ httpVersionMinor, headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined || (headers['transfer-encoding'] !== undefined && httpVersionMinor === 0);
}

/** Node's parser accepts RTSP/1.0 and ICE/1.0 as HTTP/1.0; only the packet still has the name of the protocol. */
function isAnotherProtocol({ httpVersionMinor, method, url, socket }: IncomingMessage): boolean {
  if (httpVersionMinor !== 0) return false;
  const packet = currentPacket(socket);
  return ['RTSP', 'ICE'].some((protocol) => packet?.includes(`${method} ${url} ${protocol}/`));
}

/** Sends an error instead of the handler's response and closes the connection, since later bytes cannot be trusted. */
export function sendRejection(response: TrackedResponse, error: Error): void {
  const { status, headers, content } = serialized(error, response.requestId);
  response.writeHead(status, headers).end(response.req.method === 'HEAD' ? undefined : content);
}

/** Sends an error when the handler reads the body. A handler that does not, as for DELETE, sends its own response. */
export function rejectReader(response: TrackedResponse, error: Error): void {
  const reject = (): void => {
    if (!response.headersSent) sendRejection(response, error);
  };
  if (response.req.readableFlowing === null) response.req.once('resume', reject);
  else reject();
}

/** The status and the text of an error response, for a socket that has no `ServerResponse`. */
export function rawResponse(error: Error, id: string) {
  const { status, headers, content } = serialized(error, id);
  const lines = Object.entries({ ...headers, date: new Date().toUTCString() });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return { status, text: `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${content}` };
}

/** Statuses of errors of Node's parser; those of other codes are 400. */
const PARSER_STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_INVALID_VERSION: 505,
};

function serialized(error: NodeJS.ErrnoException, id: string) {
  const rejection = error instanceof ApiError ? error : standardError(PARSER_STATUS[error.code ?? ''] ?? 400);
  const { status, headers, body } = errorResponse(rejection, id);
  const content = JSON.stringify(body);
  return {
    status,
    content,
    headers: { ...headers, 'content-length': String(Buffer.byteLength(content)), connection: 'close' },
  };
}
