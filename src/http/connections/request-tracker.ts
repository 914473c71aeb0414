import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { clientAddress, requestId, routeOf } from '../messages/request.js';
import { commonHeaders } from '../messages/response-headers.js';
import { StoppableRequest } from './node-internals.js';

/**
 * How a request ended: `sent` if its whole response was passed to the operating system, `cut off` if the connection
 * closed before, `dropped` if the connection closed before Fastify received the request, so that it had no effect.
 */
type RequestEnd = 'sent' | 'cut off' | 'dropped';

/** The data of a request for the log and the metrics. It never has tokens or bodies. */
interface RequestRecord {
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

/** @param request absent if Node's parser did not find one, and for handshakes of WebSockets */
type RequestListener = (record: RequestRecord, end: RequestEnd, request?: IncomingMessage) => void;

/** Milliseconds a handler may run after its client has disconnected; then its request is recorded without a status. */
const ORPHAN_TIMEOUT = 60_000;

/** The connection as its responses see it. */
export interface ResponseConnection {
  /** The client's address; a closed socket no longer has it. */
  readonly address: string | undefined;
  readonly hasClosed: boolean;
  /** Sets how many bytes of a streamed response are buffered now. */
  countBuffered(response: TrackedResponse, bytes: number): void;
}

/** Tells whether a request has arrived with its body. Without a body, Node sets `complete` a moment too late. */
export function hasArrived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0));
}

/** Length in bytes below which a chunk of a body is small, and number of small chunks that are joined. */
const SMALL_CHUNK = 256;
const JOINED_CHUNKS = 64;

/** Number of small chunks of one body after which its connection pauses. A usual body has fewer. */
export const MANY_CHUNKS = 256;

/**
 * Node's request. It joins small chunks of a body until a handler begins to read it: a chunk takes 300 bytes of memory
 * beside its content, and requests that wait for their turn may have thousands of them.
 */
export class CompactRequest extends StoppableRequest {
  private readonly small: Buffer[] = [];
  private isRead = false;
  private smallChunks = 0;
  /** Called after every `MANY_CHUNKS` small chunks. */
  onManyChunks?: () => void;

  override push(chunk: Buffer | null): boolean {
    const isSmall = chunk !== null && chunk.length < SMALL_CHUNK;
    if (isSmall && ++this.smallChunks % MANY_CHUNKS === 0) this.onManyChunks?.();
    if (!isSmall || this.isRead) {
      this.flush();
      return super.push(chunk);
    }
    this.small.push(chunk);
    return this.small.length < JOINED_CHUNKS || this.flush();
  }

  override _read(size: number): void {
    this.isRead = true;
    this.flush();
    super._read(size);
  }

  /** @returns whether more bytes may come, as `push` does */
  private flush(): boolean {
    return this.small.length === 0 || super.push(Buffer.concat(this.small.splice(0)));
  }
}

/** Node's response with the state that the connection, the log and the metrics need. */
export class TrackedResponse extends ServerResponse {
  declare httpConnection: ResponseConnection;
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
    const record = { requestId: id, method, route: 'unknown', status, milliseconds: 0, address };
    for (const listener of this.listeners) listener(record, 'sent');
  }
}

function recordOf(response: TrackedResponse): RequestRecord {
  const { reply, req, startedAt } = response;
  const request = reply?.request;
  const hasStatus = response.isAnswered || response.headersSent;
  return {
    requestId: response.requestId,
    method: req.method ?? 'unknown',
    route: request === undefined ? 'unknown' : routeOf(request),
    status: hasStatus ? response.statusCode : undefined,
    milliseconds: startedAt === 0 ? 0 : Math.round((performance.now() - startedAt) * 1000) / 1000,
    subject: (request?.principal ?? request?.user)?.subject,
    address: clientAddress(request?.ip ?? '', response.httpConnection.address),
  };
}
