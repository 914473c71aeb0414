import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { clientAddress, requestId, routeOf } from '../messages/request.js';
import { commonHeaders } from '../messages/response-headers.js';
import type { CompactRequest } from './node-internals.js';

/**
 * How a request ended: `sent` if its whole response was passed to the operating system, `cut off` if the connection
 * closed before, `dropped` if the connection closed before Fastify received the request, so that it had no effect.
 */
type RequestEnd = 'sent' | 'cut off' | 'dropped';

/** The data of a request for the log and the metrics. It never has tokens or bodies. */
type RequestRecord = ReturnType<typeof recordOf>;

/** @param request absent if Node's parser did not find one, and for handshakes of WebSockets */
type RequestListener = (record: RequestRecord, end: RequestEnd, request?: IncomingMessage) => void;

/** Milliseconds a handler may run after its client has disconnected; then its request is recorded without a status. */
const ORPHAN_TIMEOUT = 60_000;

/** Tells whether a request has arrived with its body. Without a body, Node sets `complete` a moment too late. */
export function hasArrived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0));
}

/** Node's response with the state that the connection, the log and the metrics need. */
export class TrackedResponse extends ServerResponse<CompactRequest> {
  /** The address at the other end of the connection; a closed socket no longer has it. */
  address?: string;
  /** Fastify's reply, once Fastify has received the request. */
  reply?: FastifyReply;
  /** Time at which Fastify received the request, on the clock of `performance.now()`. */
  startedAt = 0;
  bufferedBytes = 0;
  /** Whether the status is final. */
  isAnswered = false;
  isRecorded = false;
  /** The error to send instead of passing the request to Fastify. */
  rejection?: Error;
  private ownId?: string;

  get requestId(): string {
    if (this.reply !== undefined) return this.reply.request.id;
    this.ownId ??= requestId(this.req);
    return this.ownId;
  }

  /** Adds the common header fields to a response without `onSend` hooks, such as that of Server-Sent Events. */
  override writeHead(status: number, ...rest: [unknown?, unknown?]): this {
    if (!this.isAnswered) this.setHeaders(new Map(Object.entries(commonHeaders(this.requestId))));
    return super.writeHead(status, ...(rest as [OutgoingHttpHeaders?]));
  }

  /** Reads the rest of the request, so that its chunks are counted. Node would drop them without calling `push`. */
  override end(...parameters: unknown[]): this {
    if (!hasArrived(this.req)) this.req.resume();
    return super.end(...(parameters as []));
  }
}

/** The requests of all connections: counts requests in flight and their buffered bytes, and records each end once. */
export class RequestTracker {
  /** Requests that were passed to Fastify and have not ended. */
  inFlight = 0;
  /** Bytes that unsent responses and waiting requests of all connections hold. */
  bufferedBytes = 0;
  private readonly listeners: RequestListener[] = [];
  /** Requests whose client has disconnected while their handler runs. */
  private readonly orphans = new Set<TrackedResponse>();

  /** @param bufferLimit limit of `bufferedBytes`; small responses within one turn of the event loop may exceed it */
  constructor(readonly bufferLimit: number) {}

  get isBufferExceeded(): boolean {
    return this.bufferedBytes > this.bufferLimit;
  }

  onEnd(listener: RequestListener): void {
    this.listeners.push(listener);
  }

  /** Sets how many bytes of a response are buffered now. */
  countBuffered(response: TrackedResponse, bytes: number): void {
    // A list may produce its next chunk after its client has disconnected; nothing would subtract these bytes again.
    if (response.isRecorded) return;
    this.bufferedBytes += bytes - response.bufferedBytes;
    response.bufferedBytes = bytes;
  }

  /** Logs and measures the end of a request, once. */
  end(response: TrackedResponse, end: RequestEnd): void {
    if (response.isRecorded) return;
    this.countBuffered(response, 0);
    response.isRecorded = true;
    this.orphans.delete(response);
    if (end !== 'dropped') this.inFlight -= 1;
    const record = recordOf(response);
    for (const listener of this.listeners) listener(record, end, response.req);
  }

  /** Handles a connection that closed before the response was sent. A running handler still provides the status. */
  cutOff(response: TrackedResponse): void {
    const isRunning = response.reply !== undefined && !response.isAnswered && !response.headersSent;
    if (isRunning) this.orphans.add(response);
    else this.end(response, 'cut off');
  }

  endLateOrphans(now: number): void {
    for (const response of this.orphans) {
      if (now - response.startedAt > ORPHAN_TIMEOUT) this.end(response, 'cut off');
    }
  }

  /** Logs and measures a response that bypasses Fastify: to CONNECT, to a handshake, and to invalid bytes. */
  recordRaw(status: number, id: string, method = 'unknown', address?: string): void {
    const record = { requestId: id, method, route: 'unknown', status, milliseconds: 0, subject: undefined, address };
    for (const listener of this.listeners) listener(record, 'sent');
  }
}

function recordOf(response: TrackedResponse) {
  const { reply, req, startedAt } = response;
  const request = reply?.request;
  const hasStatus = response.isAnswered || response.headersSent;
  return {
    requestId: response.requestId,
    method: req.method ?? 'unknown',
    route: request === undefined ? 'unknown' : routeOf(request),
    // Absent if the connection closed before there was a response.
    status: hasStatus ? response.statusCode : undefined,
    milliseconds: startedAt === 0 ? 0 : Math.round((performance.now() - startedAt) * 1000) / 1000,
    subject: (request?.principal ?? request?.user)?.subject,
    // Behind the proxies in `TRUST_PROXY`.
    address: clientAddress(request?.ip ?? '', response.address),
  };
}
