import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { addressKey, clientAddress, requestId } from '../messages/request.js';
import { announcesClose, SocketFlow } from './node-internals.js';
import { isLastOfConnection, protocolError, rawResponse, rejectReader, sendRejection } from './protocol-error.js';
import { hasArrived, type RequestTracker, type TrackedResponse } from './request-tracker.js';

export const CUT_REASONS = ['stalled', 'overload', 'too many connections'] as const;
export type CutReason = (typeof CUT_REASONS)[number];

/** The owner of all connections, as one connection sees it. */
export interface ConnectionOwner {
  readonly requests: RequestTracker;
  readonly cuts: Map<CutReason, number>;
  readonly requestHandler: RequestListener;
  /** Counts `MANY_CHUNKS` small chunks of a body. @returns milliseconds for which their connection must not be read */
  pauseForChunks(): number;
}

/** Requests of one connection that may wait for their response; with more, the service stops reading. */
const MAX_UNANSWERED = 16;

/** Longest pause for small chunks in milliseconds; a connection that would need a longer one is cut. */
const LONGEST_PAUSE = 1000;

/** Estimated bytes of a waiting request: its message, its response and its header fields. */
const WAITING_REQUEST_BYTES = 4096;

/** Milliseconds in which a client may read the last response after the service has closed its side. */
const LINGER = 2000;

/**
 * One connection. It passes a request to Fastify when the operating system has accepted the previous response. So a
 * client that does not read holds one response, and its further requests are not executed.
 */
export class Connection {
  readonly address = clientAddress('', this.socket.remoteAddress);
  readonly addressKey = addressKey(this.address);
  hasServed = false;
  isWebSocket = false;
  private current?: TrackedResponse;
  private readonly waiting: TrackedResponse[] = [];
  /** The last request with a response, while its body has not arrived completely. */
  private unfinishedRequest?: IncomingMessage;
  /** The error to send after all responses. */
  private lastError?: { readonly error: Error; readonly request?: IncomingMessage };
  private isRejected = false;
  /** A request that did not arrive in time; without `request` until its header section has arrived. */
  private overdue?: { readonly error: Error; request?: IncomingMessage };
  /** Time at which the service closed its side, on the clock of `performance.now()`. */
  private endedAt?: number;
  /** Set while the connection is not read because of its small chunks. */
  private pause?: NodeJS.Timeout;
  readonly flow: SocketFlow;

  constructor(
    readonly socket: Socket,
    private readonly owner: ConnectionOwner,
    wire = socket,
  ) {
    this.flow = new SocketFlow(socket, wire);
    // After CONNECT or an upgrade, Node removes its error listener; an error without a listener would end the process.
    socket.on('error', () => {});
    socket.on('drain', () => this.handleDrain());
    socket.once('end', () => this.handleEnd());
    socket.prependOnceListener('close', () => this.dropWaiting());
    socket.once('close', () => {
      const { current } = this;
      this.current = undefined;
      if (current !== undefined) owner.requests.cutOff(current);
    });
    // Node calls this after the last response. Closing immediately could reset the connection and lose the response
    // (RFC 9112 section 9.6). Node also calls it when the client has closed its side, while an error may be unsent.
    socket.destroySoon = () => {
      if (!this.hasErrorToSend) this.end();
    };
  }

  /** `close` is emitted a moment after the socket is destroyed; bytes written in between are lost. */
  get hasClosed(): boolean {
    return this.socket.destroyed;
  }

  /** Whether an error must be sent after the response that has just been sent. */
  private get hasErrorToSend(): boolean {
    const { lastError, current, waiting } = this;
    return lastError !== undefined && current !== undefined && waiting.length === 0 && !announcesClose(current);
  }

  /** Whether no request is in progress; a request whose header section is incomplete does not count. */
  private get isIdle(): boolean {
    return this.current === undefined && this.waiting.length === 0;
  }

  /** Tells whether a finished response waits in memory for the client to read it. */
  get isSending(): boolean {
    return this.current?.writableEnded === true;
  }

  /**
   * The order in which connections are closed for a new one, lowest first: last response sent, never used, idle between
   * requests, request still arriving, WebSocket. Infinity: a complete request is in progress.
   */
  get priority(): number {
    if (this.endedAt !== undefined) return 0;
    if (this.isWebSocket) return 4;
    if (this.isIdle) return this.hasServed ? 2 : 1;
    return this.current !== undefined && !this.current.isAnswered && !hasArrived(this.current.req) ? 3 : Infinity;
  }

  /** Bytes that its unread response and its waiting requests hold. */
  get bufferedBytes(): number {
    return (this.current?.bufferedBytes ?? 0) + this.waiting.length * WAITING_REQUEST_BYTES;
  }

  /** @returns whether the connection is a WebSocket now; `false` while an earlier request is in progress */
  upgrade(): boolean {
    this.isWebSocket = this.isIdle && this.endedAt === undefined;
    return this.isWebSocket;
  }

  /** Handles a request whose header section has arrived. */
  receive(response: TrackedResponse): void {
    response.address = this.address;
    response.req.onManyChunks = this.pauseForChunks;
    this.hasServed = true;
    if (this.overdue !== undefined) this.overdue.request ??= response.req;
    if (this.endedAt !== undefined) {
      // The client has `LINGER` to read the last response; parsing more of its requests would only delay others.
      this.flow.pauseReading();
      return this.owner.requests.end(response, 'dropped');
    }
    // Checked now, because Node's parser has the bytes of the request only until it returns.
    response.rejection = protocolError(response.req, this.waiting.length >= MAX_UNANSWERED);
    if (isLastOfConnection(response.req)) response.shouldKeepAlive = false;
    if (this.isIdle) return this.start(response);
    this.waiting.push(response);
    this.owner.requests.bufferedBytes += WAITING_REQUEST_BYTES;
    if (this.waiting.length < MAX_UNANSWERED) return;
    this.flow.pauseReading();
    // Node's parser continues to the end of the packet, unless the connection is cut.
    if (this.owner.requests.isBufferExceeded) this.cut('overload');
  }

  /**
   * Ends the connection with an error for bytes that Node's parser rejected, or for CONNECT (`request`). Complete
   * requests before it get their responses first. A request that already has a response gets no second one.
   */
  reject(error: Error, request?: IncomingMessage): void {
    if (this.isRejected) return;
    this.isRejected = true;
    const last = this.waiting.at(-1) ?? this.current;
    if (request === undefined && last !== undefined && !last.req.complete) {
      last.rejection ??= error;
      if (last === this.current) rejectReader(last, error);
    } else if (request !== undefined || this.unfinishedRequest?.complete !== false) {
      this.lastError = { error, request };
    }
    if (this.isIdle) this.finish();
  }

  /** Handles a request that did not arrive in time, which Node reports once. */
  expire(error: Error, requestTimeout: number): void {
    const last = this.waiting.at(-1)?.req ?? this.current?.req ?? this.unfinishedRequest;
    this.overdue = { error, request: last?.complete === false ? last : undefined };
    this.checkOverdue(performance.now(), requestTimeout);
  }

  /** Rejects an overdue request, unless other requests paused reading so long that its rest could not be sent. */
  checkOverdue(now: number, requestTimeout: number): void {
    if (this.overdue === undefined) return;
    const { request, error } = this.overdue;
    if (request?.complete === true) this.overdue = undefined;
    else if (this.pause !== undefined || this.flow.readingFor(now) > requestTimeout) this.reject(error);
  }

  /** Closes the connection without a response. */
  cut(reason: CutReason): void {
    const { cuts } = this.owner;
    if (!this.hasClosed) cuts.set(reason, cuts.get(reason)! + 1);
    this.socket.destroy();
  }

  isLingering(now: number): boolean {
    return this.endedAt !== undefined && now - this.endedAt > LINGER;
  }

  /** Whether the client of an event stream has closed its side. No write would fail while the stream sends nothing. */
  get hasLeftEvents(): boolean {
    const type = this.socket.readableEnded && this.current?.getHeader('content-type');
    return String(type).startsWith('text/event-stream');
  }

  /** @param hasWaited behind another request; then other connections have their turn before it, too */
  private start(response: TrackedResponse, hasWaited = false): void {
    this.current = response;
    response.startedAt = performance.now();
    response.on('finish', () => this.responseSent(response));
    this.owner.requests.inFlight += 1;
    // Node's parser may still find an error in the rest of the packet. Then the request must not be handled.
    // `nextTick` would be too early: on plain TCP, Node runs it between the header section and the body.
    if (!hasWaited && hasArrived(response.req)) this.pass(response);
    else setImmediate(() => this.pass(response));
  }

  private pass(response: TrackedResponse): void {
    if (this.current !== response) return;
    if (response.rejection === undefined) this.owner.requestHandler(response.req, response);
    else sendRejection(response, response.rejection);
  }

  /** Handles a response that the operating system has accepted completely. */
  private responseSent(response: TrackedResponse): void {
    // Node emits `finish` after a failed write, too.
    if (this.socket.destroyed || this.socket.errored !== null) return;
    this.owner.requests.end(response, 'sent');
    this.current = undefined;
    this.unfinishedRequest = response.req.complete ? undefined : response.req;
    if (!this.socket.writable) return;
    const next = this.waiting.shift();
    if (next !== undefined) {
      this.owner.requests.bufferedBytes -= WAITING_REQUEST_BYTES;
      this.resumeReading();
      this.start(next, true);
    } else if (this.isRejected) this.finish();
  }

  /** Gives others time: a packet of 64 KiB may have 11 000 chunks, each of which takes as much time as a long one. */
  private readonly pauseForChunks = (): void => {
    const milliseconds = this.owner.pauseForChunks();
    if (milliseconds > LONGEST_PAUSE) return this.cut('overload');
    this.flow.pauseReading();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.pause = undefined;
      this.resumeReading();
    }, milliseconds).unref();
  };

  private resumeReading(): void {
    if (this.pause === undefined && this.waiting.length < MAX_UNANSWERED / 2) this.flow.resumeReading();
  }

  /** Sends the last error after all responses, and closes this side. */
  private finish(): void {
    const { socket, lastError } = this;
    if (lastError === undefined || !socket.writable) return this.end();
    const { error, request } = lastError;
    const id = requestId(request);
    const { status, text } = rawResponse(error, id);
    this.end(text);
    this.owner.requests.recordRaw(status, id, request?.method, this.address);
    // After CONNECT, Node no longer reads, and the client's end would not be noticed.
    socket.resume();
  }

  /** Closes this side after the buffered bytes. The client has `LINGER` to close the other side. */
  private end(lastBytes?: string): void {
    if (this.endedAt !== undefined) return;
    this.endedAt = performance.now();
    if (lastBytes !== undefined) this.socket.write(lastBytes);
    this.socket.end();
  }

  private handleDrain(): void {
    this.flow.handleDrain();
    // After CONNECT, Node does not pass `drain` on to the response.
    if (this.isRejected) this.current?.emit('drain');
  }

  /** Rejects an incomplete body. Node does this, too, except for a request with `Upgrade`. */
  private handleEnd(): void {
    const last = this.waiting.at(-1) ?? this.current;
    if (last?.req.complete === false) this.reject(new ApiError(400, 'BAD_REQUEST', 'The request did not arrive whole'));
  }

  /** Ends the waiting requests before Node does, which would make an error with a stack for each of them. */
  private dropWaiting(): void {
    this.owner.requests.bufferedBytes -= this.waiting.length * WAITING_REQUEST_BYTES;
    for (const response of this.waiting.splice(0)) {
      response.req.destroy();
      this.owner.requests.end(response, 'dropped');
    }
  }
}
