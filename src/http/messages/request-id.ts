import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const VALID_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's `X-Request-Id` if it is valid, otherwise a new id. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && VALID_ID.test(given) ? given : newRequestId();
}

export function newRequestId(): string {
  return randomUUID();
}
