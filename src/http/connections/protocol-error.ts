import type { IncomingMessage } from 'node:http';
import { ApiError } from '../api-error.js';

/** Header fields of one request at most. Node would silently leave out what comes after its own limit of so many. */
export const MAX_HEADER_FIELDS = 2000;

/** RFC 9112 section 3.2, RFC 3986 section 3.2.2: a name, an IPv4 address or an IPv6 address in brackets, with or without a port. */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/** The value seen last: nearly always the next one, too. */
let validHost = '';

/** What makes a request unacceptable as HTTP, whatever it asks for; `undefined` when it is acceptable. */
export function protocolError(request: IncomingMessage): ApiError | undefined {
  const { headers, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1 || isRtsp(request)) {
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
  if (expect !== undefined && httpVersionMinor === 1 && expect.toLowerCase() !== '100-continue') {
    const message = 'The expectation in the Expect header cannot be met; only 100-continue is known';
    return new ApiError(417, 'EXPECTATION_FAILED', message);
  }
  return undefined;
}

function isHost(host: string): boolean {
  if (!HOST.test(host)) return false;
  validHost = host;
  return true;
}

/** Node's parser takes RTSP/1.0 for HTTP/1.0 and keeps only the number; what it parses at the moment still has the name. */
function isRtsp({ httpVersionMinor, method, url, socket }: IncomingMessage): boolean {
  if (httpVersionMinor !== 0) return false;
  const { parser } = socket as unknown as { parser?: { getCurrentBuffer?(): Buffer | undefined } };
  return parser?.getCurrentBuffer?.()?.includes(`${method} ${url} RTSP/`) ?? false;
}
