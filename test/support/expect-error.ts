import { STATUS_CODES } from 'node:http';
import type { Answer } from './service.js';

/** Expects the common shape of errors. */
export function expectError(answer: Answer, status: number, errorCode: string): void {
  const details = answer.body?.details;
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: {
      statusCode: status,
      error: STATUS_CODES[status],
      message: expect.stringMatching(/\S/),
      errorCode,
      requestId: answer.headers.get('x-request-id'),
      ...(details !== undefined && { details: describedDetails(details) }),
    },
  });
  expectErrorHeaders(answer);
}

/** At least one detail, each with its place and its message. */
function describedDetails(details: readonly object[]): object[] {
  const [first = {}, ...others] = details;
  return [first, ...others].map((detail) => ({
    ['pointer' in detail ? 'pointer' : 'parameter']: expect.any(String),
    message: expect.stringMatching(/\S/),
  }));
}

export function withoutRequestId(body: object | undefined): string {
  return JSON.stringify({ ...body, requestId: undefined });
}

/** Expects the header fields of an error. A response to HEAD has nothing else. */
export function expectErrorHeaders({ headers }: Answer): void {
  const [type, cacheControl, etag] = ['content-type', 'cache-control', 'etag'].map((name) => headers.get(name));
  expect({ type, cacheControl, etag }).toEqual({
    type: expect.stringMatching(/^application\/json(; charset=utf-8)?$/),
    cacheControl: 'no-store',
    etag: null,
  });
  expectPlainHeaders(headers);
}

/** Expects the header fields of every response, and none that reveal the software. */
export function expectPlainHeaders(headers: Headers): void {
  const fields = ['x-content-type-options', 'x-request-id', 'server', 'x-powered-by'].map((name) => headers.get(name));
  expect(fields).toEqual(['nosniff', expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/), null, null]);
}
