import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { requestId } from '../messages/request-id.js';
import type { TrackedResponse } from './tracked-response.js';

/**
 * How a request ended: `sent` when its response was handed to the operating system whole, `cut off` when the connection closed
 * before, `dropped` when the connection closed before the request was handed on: then it has done nothing.
 */
export type RequestEnd = 'sent' | 'cut off' | 'dropped';

/** What the log and the metrics keep of a request. Tokens and bodies are never part of it. */
export interface RequestRecord {
  readonly requestId: string;
  /** `unknown` for what was no request to Node's parser. */
  readonly method: string;
  /** The route's template, such as `/orders/:id`; `unknown` for a path that has none. */
  readonly route: string;
  /** Absent when the connection closed before there was a response. */
  readonly status?: number;
  readonly milliseconds: number;
  readonly subject?: string;
  /** The client's address, through the proxies that `TRUST_PROXY` names. */
  readonly address?: string;
}

export type RequestListener = (record: RequestRecord, end: RequestEnd) => void;

/** The route's template, such as `/orders/:id`; a path that has none is never named. */
export function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
}

export function recordOf(response: TrackedResponse): RequestRecord {
  const { reply, req, startedAt } = response;
  const milliseconds = startedAt === 0 ? 0 : Math.round((performance.now() - startedAt) * 1000) / 1000;
  const hasStatus = response.isAnswered || response.headersSent;
  if (reply === undefined) {
    return {
      requestId: requestId(req),
      method: req.method ?? 'unknown',
      route: 'unknown',
      status: hasStatus ? response.statusCode : undefined,
      milliseconds,
      address: response.httpConnection.address,
    };
  }
  const { request } = reply;
  return {
    requestId: request.id,
    method: request.method,
    route: routeOf(request),
    status: hasStatus ? response.statusCode : undefined,
    milliseconds,
    subject: request.user?.subject,
    // A trusted proxy may forward anything.
    address: isIP(request.ip) === 0 ? response.httpConnection.address : request.ip,
  };
}
