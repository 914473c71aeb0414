import { isIP } from 'node:net';
import { routeOf } from '../routing/route-of.js';
import type { TrackedResponse } from './tracked-response.js';

/**
 * How a request ended: `sent` if its whole response was passed to the operating system, `cut off` if the connection
 * closed before, `dropped` if the connection closed before Fastify received the request, so that it had no effect.
 */
export type RequestEnd = 'sent' | 'cut off' | 'dropped';

/** The data of a request for the log and the metrics. It never has tokens or bodies. */
export interface RequestRecord {
  readonly requestId: string;
  /** `unknown` if Node's parser did not find a request. */
  readonly method: string;
  /** The pattern of the route, such as `/orders/:id`; `unknown` if no route matches. */
  readonly route: string;
  /** Absent if the connection closed before there was a response. */
  readonly status?: number;
  readonly milliseconds: number;
  readonly subject?: string;
  /** The client's address, behind the proxies in `TRUST_PROXY`. */
  readonly address?: string;
}

export type RequestListener = (record: RequestRecord, end: RequestEnd) => void;

export function recordOf(response: TrackedResponse): RequestRecord {
  const { reply, req, startedAt } = response;
  const request = reply?.request;
  const hasStatus = response.isAnswered || response.headersSent;
  return {
    requestId: response.requestId,
    method: req.method ?? 'unknown',
    route: request === undefined ? 'unknown' : routeOf(request),
    status: hasStatus ? response.statusCode : undefined,
    milliseconds: startedAt === 0 ? 0 : Math.round((performance.now() - startedAt) * 1000) / 1000,
    subject: request?.user?.subject,
    // A trusted proxy may forward a text that is no address.
    address: request === undefined || isIP(request.ip) === 0 ? response.httpConnection.address : request.ip,
  };
}
