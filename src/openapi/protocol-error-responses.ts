import type { DescribedError } from './described-error.js';

/** Errors of the request as HTTP, which come before any operation (`connections/protocol-error.ts` and Node's parser). */
export const PROTOCOL_ERRORS: readonly DescribedError[] = [
  {
    status: 400,
    description: 'The request is not valid HTTP',
    examples: {
      http: { message: 'The request is not valid HTTP' },
      host: { message: 'The request must have exactly one Host header, with a host and perhaps a port' },
    },
  },
  {
    status: 408,
    description: 'The request did not arrive in time',
    examples: { late: { message: 'The request did not arrive in time' } },
  },
  {
    status: 413,
    description: 'The body is larger than 16 KiB',
    examples: { large: { message: 'The body is larger than the 16 KiB that are accepted' } },
  },
  {
    status: 417,
    description: 'The Expect header asks for something else than 100-continue',
    examples: {
      expectation: { message: 'The expectation in the Expect header cannot be met; only 100-continue is known' },
    },
  },
  {
    status: 431,
    description: 'The header fields are too large, or too many',
    examples: {
      size: { message: 'The header fields of the request are too large' },
      number: { message: 'The request has more than 2000 header fields' },
    },
  },
  {
    status: 501,
    description: 'The Transfer-Encoding is another than chunked',
    examples: { coding: { message: 'The Transfer-Encoding must be chunked; no other coding is implemented' } },
  },
  {
    status: 505,
    description: 'The protocol is another than HTTP/1.1 and HTTP/1.0',
    examples: { version: { message: 'The protocol must be HTTP/1.1 or HTTP/1.0' } },
  },
];
