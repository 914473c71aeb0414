import { Readable } from 'node:stream';

/**
 * The body of a long list, chunk by chunk. It forgets its chunks when it closes: Nest refers to the first stream of a
 * connection until the connection closes, and an idle one stays open for long.
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
