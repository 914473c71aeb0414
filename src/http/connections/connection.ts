import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { protocolErrorResponse } from '../errors/error-response.js';
import { newRequestId, requestId } from '../messages/request-id.js';
import type { Connections, CutReason } from './connections.js';
import { isLastOfConnection, protocolError } from './protocol-error.js';
import type { TrackedResponse } from './tracked-response.js';

/** Requests of one connection that may wait unanswered; with more, the service stops reading until some are answered. */
export const MAX_UNANSWERED = 16;

/** Bytes that a waiting request counts for, by estimate: its message, its response and its header fields. */
const WAITING_REQUEST_BYTES = 4096;

/** Milliseconds in which a client may still read the last response after the service has closed its side. */
const LINGER = 2000;

/** What `net.Socket` does not publish: whether Node's HTTP server has stopped reading, its parser, and what libuv has still to send. */
interface SocketInternals {
  _paused?: boolean;
  readonly parser?: { resume(): void } | null;
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

/**
 * One connection: its requests, handed on one after the other, and the progress of what is sent. A request is handed on when
 * the response before it has been given to the operating system. So whoever does not read holds one response, and what waits
 * behind it has not been done.
 */
export class Connection {
  /** Kept, because a closed socket has none. */
  readonly address: string | undefined;
  hasClosed = false;
  /** Whether it has ever brought a request. */
  hasServed = false;
  private current?: TrackedResponse;
  private readonly waiting: TrackedResponse[] = [];
  /** The request answered last, while its body has not arrived whole. */
  private unfinishedRequest?: IncomingMessage;
  /** What is answered when everything before it has been. */
  private lastError?: { readonly error: Error; readonly request?: IncomingMessage };
  private isReading = true;
  private isRejected = false;
  /** When the service has closed its side, on the clock of `performance.now()`. */
  private endedAt?: number;
  private sentBytes = 0;
  private sentAt = performance.now();

  constructor(
    readonly socket: Socket,
    private readonly connections: Connections,
  ) {
    this.address = socket.remoteAddress;
    // Without a listener of its own, a socket that Node hands over would end the process when it breaks.
    socket.on('error', ignore);
    socket.on('drain', () => this.drained());
    socket.once('close', () => this.closed());
    // Node calls it after the last response. Closing at once would reset the connection where the client has sent more than
    // was read, and the reset would take the response with it (RFC 9112 section 9.6).
    socket.destroySoon = () => this.end();
  }

  /** Whether no request is in progress; one that has begun to arrive does not count. */
  get isIdle(): boolean {
    return this.current === undefined && this.waiting.length === 0;
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
    if (this.endedAt !== undefined) return this.connections.requestEnded(response, 'dropped');
    // While Node's parser still has the packet in hand.
    response.rejection = protocolError(response.req);
    if (isLastOfConnection(response.req)) response.shouldKeepAlive = false;
    if (this.isIdle) return this.start(response);
    this.waiting.push(response);
    this.connections.budget.add(WAITING_REQUEST_BYTES);
    if (this.waiting.length < MAX_UNANSWERED) return;
    this.stopReading();
    // What is behind in the same packet has been parsed already.
    if (this.connections.budget.isExceeded) this.cut('overload');
  }

  /**
   * Ends the connection with an error for what Node's parser has not understood, or handed over. Everything that arrived whole
   * before is answered first; a request that was answered before its body had arrived gets no second response.
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

  /** Notes how much of a response that is made piece by piece waits in memory now. */
  countBuffered(response: TrackedResponse, bytes: number): void {
    this.connections.countBuffered(response, bytes);
    this.connections.relieve();
  }

  /** Closes the connection without another word. */
  cut(reason: CutReason): void {
    if (!this.hasClosed) this.connections.countCut(reason);
    this.socket.destroy();
  }

  /** @returns milliseconds since the client last took something of what waits for it; 0 when nothing waits */
  stalledFor(now: number): number {
    const { _handle: handle } = this.socket as unknown as SocketInternals;
    const unsent = Math.max(handle?.writeQueueSize ?? 0, this.socket.writableLength);
    const sent = handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
    if (unsent === 0 || sent !== this.sentBytes) {
      this.sentBytes = sent;
      this.sentAt = now;
    }
    return now - this.sentAt;
  }

  /** Whether the last response has been sent and the client keeps its side open. */
  isLingering(now: number): boolean {
    return this.endedAt !== undefined && now - this.endedAt > LINGER;
  }

  private start(response: TrackedResponse): void {
    this.current = response;
    response.startedAt = performance.now();
    response.on('finish', sent);
    this.connections.requestStarted();
    if (response.rejection === undefined) this.connections.handle(response);
    else sendRejection(response, response.rejection);
  }

  /** To be called when the response of the current request has been handed to the operating system. */
  responseSent(response: TrackedResponse): void {
    // Node says so of a failed write, too.
    if (this.socket.destroyed || this.socket.errored !== null) return;
    this.connections.requestEnded(response, 'sent');
    this.current = undefined;
    this.unfinishedRequest = response.req.complete ? undefined : response.req;
    if (!this.socket.writable) return;
    const next = this.waiting.shift();
    if (next !== undefined) {
      this.connections.budget.add(-WAITING_REQUEST_BYTES);
      if (this.waiting.length < MAX_UNANSWERED / 2) this.readOn();
      this.start(next);
    } else if (this.isRejected) this.finish();
  }

  /** Everything has been answered; what is left to say is the error. */
  private finish(): void {
    const { socket, lastError } = this;
    if (lastError === undefined || !socket.writable) return this.end();
    const { error, request } = lastError;
    const id = request === undefined ? newRequestId() : requestId(request);
    this.end(rawResponse(error, id));
    this.connections.recordRaw(error, id, request?.method, this.address);
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

  /**
   * As Node's HTTP server does it for itself. It goes on reading when what was sent has drained, which says nothing of how many
   * requests wait: so `drained` stops it again.
   */
  private stopReading(): void {
    this.isReading = false;
    (this.socket as unknown as SocketInternals)._paused = true;
    this.socket.pause();
  }

  private readOn(): void {
    if (this.isReading) return;
    this.isReading = true;
    const internals = this.socket as unknown as SocketInternals;
    internals._paused = false;
    // Node's server has paused it, too, behind the packet that was too much.
    internals.parser?.resume();
    this.socket.resume();
  }

  private drained(): void {
    if (!this.isReading) this.stopReading();
    // After CONNECT, Node no longer tells the response that it may go on.
    if (this.isRejected) this.current?.emit('drain');
  }

  private closed(): void {
    this.hasClosed = true;
    this.connections.closed(this);
    const { current, waiting } = this;
    this.current = undefined;
    if (current !== undefined) this.connections.requestCutOff(current);
    this.connections.budget.add(-waiting.length * WAITING_REQUEST_BYTES);
    for (const response of waiting.splice(0)) this.connections.requestEnded(response, 'dropped');
  }
}

function ignore(): void {}

function sent(this: TrackedResponse): void {
  this.httpConnection.responseSent(this);
}

/** Answers a request in place of its handler, and closes the connection: what follows on it may not be what it seems. */
function sendRejection(response: TrackedResponse, error: Error): void {
  const { reply, req } = response;
  const { status, headers, content } = serialized(error, reply?.request.id ?? requestId(req));
  response.writeHead(status, headers).end(req.method === 'HEAD' ? undefined : content);
}

/** A response without Node's own object for it. */
function rawResponse(error: Error, id: string): string {
  const { status, headers, content } = serialized(error, id);
  const lines = Object.entries({ ...headers, date: new Date().toUTCString() });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${content}`;
}

function serialized(error: Error, id: string) {
  const { status, headers, body } = protocolErrorResponse(error, id);
  const content = JSON.stringify(body);
  return {
    status,
    content,
    headers: { ...headers, 'content-length': String(Buffer.byteLength(content)), connection: 'close' },
  };
}
