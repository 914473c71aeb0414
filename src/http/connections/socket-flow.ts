import type { Socket } from 'node:net';
import { flowOf, pauseReading, resumeReading } from './node-internals.js';

/** What flows through a socket: whether the service reads, and whether the client takes what is sent. */
export class SocketFlow {
  private isReading = true;
  private sentBytes = 0;
  private sentAt = performance.now();

  constructor(private readonly socket: Socket) {}

  /** @returns milliseconds since the client last took something of what waits for it; 0 when nothing waits */
  stalledFor(now: number): number {
    const { sent, unsent } = flowOf(this.socket);
    if (unsent === 0 || sent !== this.sentBytes) {
      this.sentBytes = sent;
      this.sentAt = now;
    }
    return now - this.sentAt;
  }

  stopReading(): void {
    this.isReading = false;
    pauseReading(this.socket);
  }

  readOn(): void {
    if (this.isReading) return;
    this.isReading = true;
    resumeReading(this.socket);
  }

  /** To be called when all that was sent has been handed to the operating system: Node goes on reading then. */
  drained(): void {
    if (!this.isReading) this.stopReading();
  }
}
