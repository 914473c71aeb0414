import { Readable } from 'node:stream';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { StreamableFile } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { TrackedResponse } from '../../http/connections/request-tracker.js';
import { overloaded } from '../../http/errors/api-error.js';
import type { JsonPage } from '../store/resource-snapshot.js';
import type { CachedList, ListCache } from './list-cache.js';
import type { ListReaders } from './list-readers.js';

interface JsonArrayOptions {
  /** Called once when no more pages are read: at the end, after an error, or when the client disconnects. */
  readonly close: () => void;
  /** Milliseconds for the client to read the whole list. */
  readonly timeout: number;
  readonly reply: FastifyReply;
  readonly readers: ListReaders;
  /** Largest list in bytes to collect for the cache; 0 collects none. */
  readonly collectUpTo: () => number;
  /** Called once after a collection: with all chunks, or with none when the list was too large or incomplete. */
  readonly collected: (chunks?: Buffer[]) => void;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * The body of a list: a Buffer when it is a single page, otherwise a stream that holds one page at a time. A client
 * that does not read is disconnected, because other clients need its snapshot.
 */
export async function jsonArray(
  pages: AsyncIterator<JsonPage>,
  options: JsonArrayOptions,
): Promise<Buffer | StreamableFile> {
  try {
    const first = await pages.next();
    const second = first.done ? first : await pages.next();
    if (second.done) {
      options.close();
      return wholeArray(first.done ? [] : first.value.chunks);
    }
    if (options.reply.request.method === 'HEAD') {
      options.close();
      return emptyStream();
    }
    return stream([first.value as JsonPage, second.value], pages, options);
  } catch (error) {
    options.close();
    throw error;
  }
}

/** A complete JSON array as one Buffer. */
export function wholeArray(chunks: readonly Buffer[]): Buffer {
  if (chunks.length === 0) return Buffer.from('[]');
  return withOpeningBracket(Buffer.concat([...chunks, CLOSING]));
}

/** The empty body of a HEAD: Fastify would read a stream to its end without sending it. */
function emptyStream(): StreamableFile {
  return new StreamableFile(Readable.from([]), { type: JSON_TYPE });
}

/**
 * Sends a cached list again, as one Buffer or as a stream.
 * @param timeout milliseconds the client may take to read all of it
 */
export function replayList(
  list: CachedList,
  cache: ListCache,
  timeout: number,
  method: string,
): Buffer | StreamableFile {
  if (list.chunks.length === 1) return list.chunks[0]!;
  if (method === 'HEAD') return emptyStream();
  const array = new ListStream(list.chunks.values());
  const deadline = setTimeout(() => array.destroy(tooSlow()), timeout);
  cache.retain(list);
  array.once('close', () => {
    clearTimeout(deadline);
    cache.release(list);
  });
  return new StreamableFile(array, { type: JSON_TYPE });
}

/** The error that ends the list of a disconnected client; a 503 when nothing was sent yet. */
const tooSlow = (): Error => overloaded('The list was read too slowly; try again');

function stream(read: JsonPage[], unread: AsyncIterator<JsonPage>, options: JsonArrayOptions): StreamableFile {
  const { close, timeout, reply, readers, collectUpTo, collected } = options;
  const cutOff = (): void => void array.destroy(tooSlow());
  const reader = readers.admit(reply.request, cutOff);
  const limit = collectUpTo();
  let chunksSoFar: Buffer[] | undefined = limit > 0 ? [] : undefined;
  let length = 0;
  let ended = false;

  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of arrayChunks(read, unread)) {
      length += chunk.length;
      if (length > limit) chunksSoFar = undefined;
      chunksSoFar?.push(chunk);
      countChunk(reply, chunk);
      yield chunk;
      reader.read();
    }
    ended = true;
  }

  const array = new ListStream(chunks());
  const deadline = setTimeout(cutOff, timeout);
  array.once('close', () => {
    clearTimeout(deadline);
    readers.leave(reader);
    if (limit > 0) collected(ended ? chunksSoFar : undefined);
    close();
  });
  return new StreamableFile(array, { type: JSON_TYPE });
}

/** Counts a chunk twice: one chunk waits in the socket while the next one is made. */
function countChunk({ raw }: FastifyReply, { length }: Buffer): void {
  if (raw instanceof TrackedResponse) raw.httpConnection.countBuffered(raw, 2 * length);
}

const OPENING = '['.charCodeAt(0);

const CLOSING = Buffer.from(']');

/** Sets the first byte to `[` in place: a copy would double the memory of a list. */
function withOpeningBracket(bytes: Buffer): Buffer {
  bytes[0] = OPENING;
  return bytes;
}

async function* arrayChunks(read: JsonPage[], unread: AsyncIterator<JsonPage>): AsyncGenerator<Buffer> {
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

/**
 * The body of a long list as a stream of chunks. It drops its chunks when it closes, because Nest keeps a reference to
 * the first stream of a connection until the connection closes.
 */
class ListStream extends Readable {
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
