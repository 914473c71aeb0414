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

/**
 * A request that ends its packet if its connection was closed while the packet was parsed. Node's parser assigns
 * `upgrade` to each request, and leaves the rest of the packet when the value is true. Without this, a packet of 64 KiB
 * makes thousands of requests for a closed connection.
 */
export class StoppableRequest extends IncomingMessage {
  private endsPacket = false;

  get upgrade(): boolean {
    return this.endsPacket;
  }

  set upgrade(value: boolean | null) {
    this.endsPacket = value === true || (value === false && this.socket.destroyed);
  }
}
