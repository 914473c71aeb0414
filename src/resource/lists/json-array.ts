import { Readable } from 'node:stream';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { StreamableFile } from '@nestjs/common';
import { overloaded } from '../../http/errors/api-error.js';
import type { JsonPage } from '../store/resource-snapshot.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

const CLOSING = Buffer.from(']');

export function wholeArray(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 0 ? Buffer.from('[]') : withOpeningBracket(Buffer.concat([...chunks, CLOSING]));
}

/** Sets the first byte to `[` in place: a copy would double the memory of a list. */
function withOpeningBracket(bytes: Buffer): Buffer {
  bytes.write('[');
  return bytes;
}

export async function* arrayChunks(first: JsonPage, others: AsyncIterable<JsonPage>): AsyncGenerator<Buffer> {
  yield withOpeningBracket(Buffer.concat(first.chunks));
  for await (const { chunks } of others) {
    yield Buffer.concat(chunks);
    // Without this pause a fast reader would block the event loop until the list ends.
    await yieldToOthers();
  }
  yield CLOSING;
}

/** A response with a stream of JSON. Without `array` it is empty, for HEAD: Fastify would read a whole list. */
export function jsonStream(array: Readable = Readable.from([])): StreamableFile {
  return new StreamableFile(array, { type: JSON_TYPE });
}

export type ListChunks = AsyncIterator<Buffer> | Iterator<Buffer>;

/** A long list as a stream. It drops its chunks at its end, because Nest keeps the first stream of a connection. */
export class ListStream extends Readable {
  private chunks?: ListChunks;

  /** `timeout` is for reading the whole list, in milliseconds. `closed` is called once, at any end of the stream. */
  constructor(chunks: ListChunks, timeout: number, closed: () => void) {
    super({ highWaterMark: 1 });
    this.chunks = chunks;
    const deadline = setTimeout(() => this.cutOff(), timeout);
    this.once('close', () => {
      clearTimeout(deadline);
      closed();
    });
  }

  /** Disconnects a slow client; a 503 when nothing was sent yet. */
  cutOff(): void {
    this.destroy(overloaded('The list was read too slowly; try again'));
  }

  override _read(): void {
    this.pushNext().catch((error: Error) => this.destroy(error));
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    void this.chunks?.return?.();
    this.chunks = undefined;
    callback(error);
  }

  private async pushNext(): Promise<void> {
    const next = await this.chunks!.next();
    if (!this.destroyed) this.push(next.done ? null : next.value);
  }
}
