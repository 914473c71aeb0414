import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { newRequestId, requestId } from '../messages/request-id.js';
import type { BufferBudget } from './buffer-budget.js';
import { isLastOfConnection, protocolError } from './protocol-error.js';
import { rawResponse, sendRejection } from './rejection.js';
import type { RequestTracker } from './request-tracker.js';
import { SocketFlow } from './socket-flow.js';
import { hasArrived, type ResponseConnection, type TrackedResponse } from './tracked-response.js';

/** The reason why the service closes a connection. */
export const CUT_REASONS = ['stalled', 'overload', 'too many connections'] as const;
export type CutReason = (typeof CUT_REASONS)[number];

/** The owner of all connections, as a connection uses it. */
export interface ConnectionOwner {
  readonly budget: BufferBudget;
  readonly requests: RequestTracker;
  /** Passes a request to the application. */
  handle(response: TrackedResponse): void;
  /** Frees memory when the budget is exceeded. */
  relieve(): boolean;
  countCut(reason: CutReason): void;
  closed(connection: Connection): void;
}

/** Requests of one connection that may wait for their response; with more, the service stops reading until some have one. */
export const MAX_UNANSWERED = 16;

/** Estimated bytes of a waiting request with its header fields and its response. */
const WAITING_REQUEST_BYTES = 4096;

/** Milliseconds in which a client may still read the last response after the service has closed its side. */
const LINGER = 2000;

/**
 * One connection: its requests, handed on one after the other, and the progress of what is sent. A request is handed on when
 * the response before it has been given to the operating system. So a client that does not read holds one response, and what waits
 * behind it has not been done.
 */
export class Connection implements ResponseConnection {
  readonly address: string | undefined;
  /** Tells whether it has received a request. */
  hasServed = false;
  private current?: TrackedResponse;
  private readonly waiting: TrackedResponse[] = [];
  /** The last answered request whose body is incomplete. */
  private unfinishedRequest?: IncomingMessage;
  /** The error response that is sent after all others. */
  private lastError?: { readonly error: Error; readonly request?: IncomingMessage };
  private isRejected = false;
  /** When the service closed its side (`performance.now()`). */
  private endedAt?: number;
  private readonly flow: SocketFlow;

  constructor(
    readonly socket: Socket,
    private readonly owner: ConnectionOwner,
  ) {
    this.address = socket.remoteAddress;
    this.flow = new SocketFlow(socket);
    // Without an error listener, an error of the socket would end the process.
    socket.on('error', ignore);
    socket.on('drain', () => this.drained());
    socket.once('end', () => this.ended());
    socket.once('close', () => this.closed());
    // Node calls it after the last response. Closing at once would reset the connection where the client has sent more than
    // was read, and the reset would take the response with it (RFC 9112 section 9.6).
    socket.destroySoon = () => this.end();
  }

  /** Node emits `close` a moment after it has destroyed the socket: what is sent in between is lost, too. */
  get hasClosed(): boolean {
    return this.socket.destroyed;
  }

  /** Whether no request is in progress; one that has begun to arrive does not count. */
  get isIdle(): boolean {
    return this.current === undefined && this.waiting.length === 0;
  }

  /**
   * How readily it gives way to a newcomer, the lowest first: its last response has been sent; it has never brought a request; it waits for the next one;
   * its request is still arriving. `undefined` where a whole request is in progress.
   */
  get expendability(): number | undefined {
    if (this.endedAt !== undefined) return 0;
    if (this.isIdle) return this.hasServed ? 2 : 1;
    return this.current !== undefined && !this.current.isAnswered && !hasArrived(this.current.req) ? 3 : undefined;
  }

  /** Bytes that its unread response and its waiting requests take of the budget. */
  get bufferedBytes(): number {
    return (this.current?.bufferedBytes ?? 0) + this.waiting.length * WAITING_REQUEST_BYTES;
  }

  /** Whether one packet has brought more requests than may wait. */
  get hasTooManyWaiting(): boolean {
    return this.waiting.length > MAX_UNANSWERED;
  }

  /** Takes a request whose header section has arrived. */
  receive(response: TrackedResponse): void {
    response.httpConnection = this;
    this.hasServed = true;
    if (this.endedAt !== undefined) return this.owner.requests.end(response, 'dropped');
    // The parser still holds the packet here.
    response.rejection = protocolError(response.req);
    if (isLastOfConnection(response.req)) response.shouldKeepAlive = false;
    if (this.isIdle) return this.start(response);
    this.waiting.push(response);
    this.owner.budget.add(WAITING_REQUEST_BYTES);
    if (this.waiting.length < MAX_UNANSWERED) return;
    this.flow.stopReading();
    // The parser has already read the next requests of this packet.
    if (this.owner.budget.isExceeded) this.cut('overload');
  }

  /**
   * Ends the connection with an error for what Node's parser has not understood, or handed over. What arrived whole before
   * gets its response first; a request that got one before its body had arrived gets no second one.
   * @param request what Node has handed over, if anything
   */
  reject(error: Error, request?: IncomingMessage): void {
    if (this.isRejected || this.endedAt !== undefined) return;
    this.isRejected = true;
    const last = this.waiting.at(-1) ?? this.current;
    if (request === undefined && last !== undefined && !last.req.complete) {
      last.rejection ??= error;
      if (last === this.current && !last.headersSent) sendRejection(last, error);
    } else if (request !== undefined || this.unfinishedRequest?.complete !== false) {
      this.lastError = { error, request };
    }
    if (this.isIdle) this.finish();
  }

  countBuffered(response: TrackedResponse, bytes: number): void {
    this.owner.requests.countBuffered(response, bytes);
    this.owner.relieve();
  }

  /** Closes the connection immediately. */
  cut(reason: CutReason): void {
    if (!this.hasClosed) this.owner.countCut(reason);
    this.socket.destroy();
  }

  /** @returns milliseconds since the client last took something of what waits for it; 0 when nothing waits */
  stalledFor(now: number): number {
    return this.flow.stalledFor(now);
  }

  /** Whether the last response has been sent and the client keeps its side open. */
  isLingering(now: number): boolean {
    return this.endedAt !== undefined && now - this.endedAt > LINGER;
  }

  private start(response: TrackedResponse): void {
    this.current = response;
    response.startedAt = performance.now();
    response.on('finish', sent);
    this.owner.requests.start();
    if (response.rejection === undefined) this.owner.handle(response);
    else sendRejection(response, response.rejection);
  }

  responseSent(response: TrackedResponse): void {
    // Node emits it for a failed write as well.
    if (this.socket.destroyed || this.socket.errored !== null) return;
    this.owner.requests.end(response, 'sent');
    this.current = undefined;
    this.unfinishedRequest = response.req.complete ? undefined : response.req;
    if (!this.socket.writable) return;
    const next = this.waiting.shift();
    if (next !== undefined) {
      this.owner.budget.add(-WAITING_REQUEST_BYTES);
      if (this.waiting.length < MAX_UNANSWERED / 2) this.flow.readOn();
      this.start(next);
    } else if (this.isRejected) this.finish();
  }

  /** All requests are answered; sends the error response. */
  private finish(): void {
    const { socket, lastError } = this;
    if (lastError === undefined || !socket.writable) return this.end();
    const { error, request } = lastError;
    const id = request === undefined ? newRequestId() : requestId(request);
    this.end(rawResponse(error, id));
    this.owner.requests.recordRaw(error, id, request?.method, this.address);
    // After CONNECT nobody else reads it, and the client's end would not be noticed.
    socket.resume();
  }

  /** Closes this side after what is still to be sent; the client has `LINGER` to close the other. */
  private end(last?: string): void {
    if (this.endedAt !== undefined) return;
    this.endedAt = performance.now();
    if (last === undefined) this.socket.end();
    else this.socket.end(last);
  }

  private drained(): void {
    this.flow.drained();
    // After CONNECT, Node no longer tells the response that it may go on.
    if (this.isRejected) this.current?.emit('drain');
  }

  /** The client sends nothing more. Node notices that a body is not whole, but for one behind an `Upgrade`. */
  private ended(): void {
    const last = this.waiting.at(-1) ?? this.current;
    if (last?.req.complete === false) {
      this.reject(new ApiError(400, 'BAD_REQUEST', 'The request did not arrive whole'));
    }
  }

  private closed(): void {
    this.owner.closed(this);
    const { current, waiting } = this;
    this.current = undefined;
    if (current !== undefined) this.owner.requests.cutOff(current);
    this.owner.budget.add(-waiting.length * WAITING_REQUEST_BYTES);
    for (const response of waiting.splice(0)) this.owner.requests.end(response, 'dropped');
  }
}

function ignore(): void {}

function sent(this: TrackedResponse): void {
  this.httpConnection.responseSent(this);
}
