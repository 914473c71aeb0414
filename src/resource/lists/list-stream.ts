import { Readable } from 'node:stream';

/**
 * The body of a long list as a stream of chunks. It drops its chunks when it closes, because Nest keeps a reference to the first
 * stream of a connection until the connection closes.
 */
export class ListStream extends Readable {
  private chunks?: AsyncIterator<Buffer> | Iterator<Buffer>;

  constructor(chunks: AsyncIterator<Buffer> | Iterator<Buffer>) {
    super({ highWaterMark: 1 });
    this.chunks = chunks;
  }

  override _read(): void {
    this.pushNext().catch((error: Error) => this.destroy(error));
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.chunks = undefined;
    callback(error);
  }

  private async pushNext(): Promise<void> {
    const next = await this.chunks!.next();
    if (!this.destroyed) this.push(next.done ? null : next.value);
  }
}
