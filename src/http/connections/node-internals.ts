import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { inodeOf, type SendQueues } from './send-queues.js';

/**
 * Non-public properties of Node's sockets and responses; `node-internals.spec.ts` fails when a version of Node changes
 * them. They are needed to limit the requests that are read while one is in progress, to distinguish slow readers from
 * stalled readers and RTSP/1.0 from HTTP/1.0, and to send an error to a client that has closed its side.
 */
interface SocketInternals {
  /** Whether Node's HTTP server has paused reading. */
  _paused?: boolean;
  readonly parser?: { resume(): void; getCurrentBuffer(): Buffer | undefined } | null;
  /** Bytes passed to libuv, and bytes of these that are not sent yet; and the descriptor, except on Windows. */
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number; readonly fd?: number } | null;
}

const internalsOf = (socket: Socket): SocketInternals => socket as unknown as SocketInternals;

/** Pauses reading from a socket, and measures how long its client has not read. */
export class SocketFlow {
  private isReading = true;
  private resumedAt = -Infinity;
  private sentBytes = 0;
  private sentAt = performance.now();
  /** Bytes in the send buffer of the kernel, read when half of the time-out was over. */
  private queued?: number;

  /** @param wire the TCP connection below TLS, or the socket itself */
  constructor(
    private readonly socket: Socket,
    private readonly wire = socket,
  ) {}

  /** @returns milliseconds since the client last read buffered bytes; 0 if nothing is buffered */
  stalledFor(now: number): number {
    const { unsent } = sentBytes(this.socket);
    const { sent } = sentBytes(this.wire);
    if (unsent === 0 || sent !== this.sentBytes) {
      this.sentBytes = sent;
      this.sentAt = now;
    }
    return now - this.sentAt;
  }

  /**
   * Tells whether the client has read nothing for `timeout` milliseconds. The kernel accepts bytes only when a third of
   * its send buffer is free, which a slow reader reaches late. So a shorter send buffer counts as reading, too.
   */
  isStalled(timeout: number, now: number, readQueues: () => SendQueues): boolean {
    const stalled = this.stalledFor(now);
    const before = this.queued;
    if (stalled <= timeout / 2) {
      this.queued = undefined;
      return false;
    }
    if (stalled <= timeout && before !== undefined) return false;
    this.queued = readQueues().get(inodeOf(internalsOf(this.wire)._handle?.fd));
    if (stalled <= timeout) return false;
    if (this.queued === undefined || this.queued === before) return true;
    this.sentAt = now;
    return false;
  }

  /** @returns milliseconds since the service or Node's HTTP server resumed reading; 0 while it is paused */
  readingFor(now: number): number {
    return this.isReading && internalsOf(this.socket)._paused !== true ? now - this.resumedAt : 0;
  }

  pauseReading(): void {
    this.isReading = false;
    internalsOf(this.socket)._paused = true;
    this.socket.pause();
  }

  resumeReading(): void {
    if (this.isReading) return;
    this.isReading = true;
    this.resumedAt = performance.now();
    const internals = internalsOf(this.socket);
    internals._paused = false;
    // Node's HTTP server has paused the parser, too.
    internals.parser?.resume();
    this.socket.resume();
  }

  /** Handles `drain` of the socket, when Node resumes reading. */
  handleDrain(): void {
    if (this.isReading) this.resumedAt = performance.now();
    else this.pauseReading();
  }
}

/** Bytes that the operating system has accepted, and bytes that it has not accepted yet. */
export function sentBytes(socket: Socket): { readonly sent: number; readonly unsent: number } {
  const { _handle: handle } = internalsOf(socket);
  if (handle === null) return { sent: 0, unsent: socket.writableLength };
  const { bytesWritten, writeQueueSize } = handle;
  return { sent: bytesWritten - writeQueueSize, unsent: Math.max(writeQueueSize, socket.writableLength) };
}

export const currentPacket = (socket: Socket): Buffer | undefined => internalsOf(socket).parser?.getCurrentBuffer();

/** Tells whether the header section of a response that has been sent closes the connection. */
export function announcesClose(response: ServerResponse): boolean {
  const { _header: header } = response as unknown as { readonly _header?: string | null };
  return typeof header !== 'string' || /\r\nconnection: close\r\n/i.test(header);
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
export class CompactRequest extends IncomingMessage {
  private endsPacket = false;
  private readonly small: Buffer[] = [];
  private isRead = false;
  private smallChunks = 0;
  /** Called after every `MANY_CHUNKS` small chunks. */
  onManyChunks?: () => void;

  get upgrade(): boolean {
    return this.endsPacket;
  }

  /**
   * Node's parser assigns it to each request, and leaves the rest of the packet when it is true. Without this, a packet
   * of 64 KiB makes thousands of requests for a closed connection.
   */
  set upgrade(value: boolean | null) {
    this.endsPacket = value === true || (value === false && this.socket.destroyed);
  }

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
