import { STATUS_CODES } from 'node:http';
import type { Answer } from './service.js';

/** Expects the common shape of errors. */
export function expectError(answer: Answer, status: number, errorCode: string): void {
  expect({ status: answer.status, errorCode: answer.body?.errorCode }).toEqual({ status, errorCode });
  const { details, ...rest } = answer.body;
  expect(rest).toEqual({
    statusCode: status,
    error: STATUS_CODES[status],
    message: expect.stringMatching(/\S/),
    errorCode,
    requestId: answer.headers.get('x-request-id'),
  });
  expect(rest.requestId).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  if (details !== undefined) {
    expect(details).not.toHaveLength(0);
    for (const detail of details) {
      const place = 'pointer' in detail ? 'pointer' : 'parameter';
      expect(detail).toEqual({ [place]: expect.any(String), message: expect.stringMatching(/\S/) });
    }
  }
  expectErrorHeaders(answer);
}

/** The body of an error without its request id. */
export function withoutRequestId(body: object | undefined): string {
  return JSON.stringify({ ...body, requestId: undefined });
}

/** Expects the header fields of an error. A response to HEAD has nothing else. */
export function expectErrorHeaders({ headers }: Answer): void {
  expect(headers.get('content-type')).toMatch(/^application\/json(; charset=utf-8)?$/);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('etag')).toBeNull();
  expectPlainHeaders(headers);
}

/** Expects the header fields of every response, and none that reveal the software. */
export function expectPlainHeaders(headers: Headers): void {
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  expect(headers.get('server')).toBeNull();
  expect(headers.get('x-powered-by')).toBeNull();
}
