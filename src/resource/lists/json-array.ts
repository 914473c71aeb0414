import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { TrackedResponse } from '../../http/connections/tracked-response.js';
import { overloaded } from '../../http/errors/api-error.js';
import type { CachedList, ListCache } from './list-cache.js';
import type { ListReaders } from './list-readers.js';
import { ListStream } from './list-stream.js';

/** Records as elements of a JSON array in UTF-8, each with a comma before it. That of the first is overwritten. */
export interface JsonRecords {
  readonly chunks: readonly Buffer[];
}

export interface JsonArrayOptions {
  /** Called once, when no more pages will be read: at the end, on a failure, or when the client has gone away. */
  readonly close: () => void;
  /** Milliseconds the client may take to read all of it. */
  readonly timeout: number;
  readonly reply: FastifyReply;
  readonly readers: ListReaders;
  /** The most bytes that are collected; 0 collects nothing. */
  readonly collectUpTo: () => number;
  /** Called when the pages fail after so many bytes were sent. Not when the client fails. */
  readonly failed: (error: unknown, bytes: number) => void;
  /** Called once when anything is collected: with all chunks, or without when they are more or were not read to their end. */
  readonly collected: (chunks?: Buffer[]) => void;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * What a handler returns for a list: the array when it is a single page, else a stream of it that holds one page at a time. A client that does not read is cut off: what it holds back, others need.
 */
export async function jsonArray(
  pages: AsyncIterator<JsonRecords>,
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
      return unsent();
    }
    return stream([first.value as JsonRecords, second.value], pages, options);
  } catch (error) {
    options.close();
    throw error;
  }
}

/** The array of these records, and of no others. */
export function wholeArray(chunks: readonly Buffer[]): Buffer {
  if (chunks.length === 0) return Buffer.from('[]');
  return opened(Buffer.concat([...chunks, CLOSING]));
}

/** What HEAD has in place of a stream: Fastify would read all of that, to send nothing of it. */
function unsent(): StreamableFile {
  return new StreamableFile(Readable.from([]), { type: JSON_TYPE });
}

/**
 * A list that has been sent before, in one piece or as a stream like the first time.
 * @param timeout milliseconds the client may take to read all of it
 */
export function replay(list: CachedList, cache: ListCache, timeout: number, method: string): Buffer | StreamableFile {
  if (list.chunks.length === 1) return list.chunks[0]!;
  if (method === 'HEAD') return unsent();
  const array = new ListStream(list.chunks.values());
  const deadline = setTimeout(() => array.destroy(tooSlow()), timeout);
  cache.retain(list);
  array.once('close', () => {
    clearTimeout(deadline);
    cache.release(list);
  });
  return new StreamableFile(array, { type: JSON_TYPE });
}

/** What a list ends with that is cut off; a 503 where nothing of it has been sent. */
const tooSlow = (): Error => overloaded('The list was read too slowly; try again');

function stream(read: JsonRecords[], unread: AsyncIterator<JsonRecords>, options: JsonArrayOptions): StreamableFile {
  const { close, timeout, reply, readers, collectUpTo, failed, collected } = options;
  const cutOff = (): void => void array.destroy(tooSlow());
  const reader = readers.admit(reply.request, cutOff);
  const limit = collectUpTo();
  let chunksSoFar: Buffer[] | undefined = limit > 0 ? [] : undefined;
  let length = 0;
  let ended = false;

  async function* chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of arrayChunks(read, unread)) {
        length += chunk.length;
        if (length > limit) chunksSoFar = undefined;
        chunksSoFar?.push(chunk);
        countChunk(reply, chunk);
        yield chunk;
        reader.read();
      }
    } catch (error) {
      // A closed stream has ended the snapshot under the page that was being read.
      if (!array.destroyed) failed(error, length);
      throw error;
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

/** One chunk waits in the socket while the next is made. */
function countChunk({ raw }: FastifyReply, { length }: Buffer): void {
  if (raw instanceof TrackedResponse) raw.httpConnection.countBuffered(raw, 2 * length);
}

const OPENING = '['.charCodeAt(0);
const CLOSING = Buffer.from(']');

/** The bytes themselves: to copy them would double what a list takes. */
function opened(bytes: Buffer): Buffer {
  bytes[0] = OPENING;
  return bytes;
}

async function* arrayChunks(read: JsonRecords[], unread: AsyncIterator<JsonRecords>): AsyncGenerator<Buffer> {
  for (const [index, { chunks }] of read.entries()) {
    yield index === 0 ? opened(inOne(chunks)) : inOne(chunks);
  }
  for (let next = await unread.next(); !next.done; next = await unread.next()) {
    yield inOne(next.value.chunks);
    // Otherwise a fast reader would keep the event loop to itself until the list ends.
    await yieldToOthers();
  }
  yield CLOSING;
}

function inOne(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
