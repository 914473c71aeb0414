import { Readable } from 'node:stream';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { StreamableFile } from '@nestjs/common';
import { overloaded } from '../../http/errors/api-error.js';
import type { JsonPage } from '../store/resource-snapshot.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

const OPENING = '['.charCodeAt(0);

const CLOSING = Buffer.from(']');

/** A complete JSON array as one Buffer. */
export function wholeArray(chunks: readonly Buffer[]): Buffer {
  if (chunks.length === 0) return Buffer.from('[]');
  return withOpeningBracket(Buffer.concat([...chunks, CLOSING]));
}

/** Sets the first byte to `[` in place: a copy would double the memory of a list. */
function withOpeningBracket(bytes: Buffer): Buffer {
  bytes[0] = OPENING;
  return bytes;
}

/** A JSON array in chunks: the pages that are read already, then the others. */
export async function* arrayChunks(read: JsonPage[], unread: AsyncIterator<JsonPage>): AsyncGenerator<Buffer> {
  for (const [index, { chunks }] of read.entries()) {
    yield index === 0 ? withOpeningBracket(concatenated(chunks)) : concatenated(chunks);
  }
  for (let next = await unread.next(); !next.done; next = await unread.next()) {
    yield concatenated(next.value.chunks);
    // Without this pause a fast reader would block the event loop until the list ends.
    await yieldToOthers();
  }
  yield CLOSING;
}

function concatenated(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** The body of a response that is a stream; by default the empty body of a HEAD, for which Fastify would read a list. */
export function jsonStream(array: Readable = Readable.from([])): StreamableFile {
  return new StreamableFile(array, { type: JSON_TYPE });
}

/**
 * The body of a long list as a stream of chunks. It drops its chunks when it closes, because Nest keeps a reference to
 * the first stream of a connection until the connection closes.
 */
export class ListStream extends Readable {
  private chunks?: AsyncIterator<Buffer> | Iterator<Buffer>;

  /**
   * @param timeout milliseconds for the client to read the whole list
   * @param closed called once: at the end, after an error, or when the client disconnects
   */
  constructor(chunks: AsyncIterator<Buffer> | Iterator<Buffer>, timeout: number, closed: () => void) {
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
    this.chunks = undefined;
    callback(error);
  }

  private async pushNext(): Promise<void> {
    const next = await this.chunks!.next();
    if (!this.destroyed) this.push(next.done ? null : next.value);
  }
}
