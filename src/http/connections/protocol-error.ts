import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { currentPacket } from './node-internals.js';

/** Header fields of one request at most. Node would silently leave out what comes after its own limit of so many. */
export const MAX_HEADER_FIELDS = 2000;

/** RFC 9112 section 3.2, RFC 3986 section 3.2.2: a name, an IPv4 address or an IPv6 address in brackets, with or without a port. */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/** One expectation, or the same in several fields (RFC 9110 section 10.1.1). */
const CONTINUE = /^100-continue(?:\s*,\s*100-continue)*$/i;

/** The value seen last: nearly always the next one, too. */
let validHost = '';

/** What makes a request unacceptable as HTTP, whatever it asks for; `undefined` when it is acceptable. */
export function protocolError(request: IncomingMessage): ApiError | undefined {
  const { headers, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1 || isAnotherProtocol(request)) {
    return new ApiError(505, 'HTTP_VERSION_NOT_SUPPORTED', 'The protocol must be HTTP/1.1 or HTTP/1.0');
  }
  if (request.rawHeaders.length > 2 * MAX_HEADER_FIELDS) {
    const message = `The request has more than ${MAX_HEADER_FIELDS} header fields`;
    return new ApiError(431, 'REQUEST_HEADER_FIELDS_TOO_LARGE', message);
  }
  const { host, expect, 'transfer-encoding': coding } = headers;
  if (host === undefined ? httpVersionMinor === 1 : host !== validHost && !isHost(host)) {
    return new ApiError(
      400,
      'BAD_REQUEST',
      'The request must have exactly one Host header, with a host and perhaps a port',
    );
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return new ApiError(
      501,
      'NOT_IMPLEMENTED',
      'The Transfer-Encoding must be chunked; no other coding is implemented',
    );
  }
  if (expect !== undefined && httpVersionMinor === 1 && !CONTINUE.test(expect)) {
    const message = 'The expectation in the Expect header cannot be met; only 100-continue is known';
    return new ApiError(417, 'EXPECTATION_FAILED', message);
  }
  return undefined;
}

/**
 * Whether the connection must close after a request, because what follows it cannot be trusted. HTTP/1.0 knows no chunks: where
 * such a body ends is not certain (RFC 9112 section 6.1). And where Node ignores an `Upgrade`, as it does here, its parser leaves
 * out whatever else is in the same packet.
 */
export function isLastOfConnection({ httpVersionMinor, headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined || (headers['transfer-encoding'] !== undefined && httpVersionMinor === 0);
}

function isHost(host: string): boolean {
  if (!HOST.test(host)) return false;
  validHost = host;
  return true;
}

/** Node's parser takes RTSP/1.0 and ICE/1.0 for HTTP/1.0 and keeps only the number; what it parses at the moment still has the name. */
function isAnotherProtocol({ httpVersionMinor, method, url, socket }: IncomingMessage): boolean {
  if (httpVersionMinor !== 0) return false;
  const packet = currentPacket(socket);
  return ['RTSP', 'ICE'].some((protocol) => packet?.includes(`${method} ${url} ${protocol}/`));
}
