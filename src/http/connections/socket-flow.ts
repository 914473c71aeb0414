import type { Socket } from 'node:net';

/** What `net.Socket` does not publish: whether Node's HTTP server has stopped reading, its parser, and what libuv has still to send. */
interface SocketInternals {
  _paused?: boolean;
  readonly parser?: { resume(): void } | null;
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

/** What flows through a socket: whether the service reads, and whether the client takes what is sent. */
export class SocketFlow {
  private readonly internals: SocketInternals;
  private isReading = true;
  private sentBytes = 0;
  private sentAt = performance.now();

  constructor(private readonly socket: Socket) {
    this.internals = socket as unknown as SocketInternals;
  }

  /** @returns milliseconds since the client last took something of what waits for it; 0 when nothing waits */
  stalledFor(now: number): number {
    const { _handle: handle } = this.internals;
    const unsent = Math.max(handle?.writeQueueSize ?? 0, this.socket.writableLength);
    const sent = handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
    if (unsent === 0 || sent !== this.sentBytes) {
      this.sentBytes = sent;
      this.sentAt = now;
    }
    return now - this.sentAt;
  }

  /**
   * As Node's HTTP server does it for itself. It goes on reading when what was sent has drained, which says nothing of how many
   * requests wait: so `drained` stops it again.
   */
  stopReading(): void {
    this.isReading = false;
    this.internals._paused = true;
    this.socket.pause();
  }

  readOn(): void {
    if (this.isReading) return;
    this.isReading = true;
    this.internals._paused = false;
    // Node's server has paused it, too, behind the packet that was too much.
    this.internals.parser?.resume();
    this.socket.resume();
  }

  /** To be called when all that was sent has been handed to the operating system. */
  drained(): void {
    if (!this.isReading) this.stopReading();
  }
}
