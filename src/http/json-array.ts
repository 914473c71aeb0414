import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { DatabaseUnavailableError } from '../database/errors.js';

/** Records as the members of a JSON array, separated by commas, without its brackets. */
export interface JsonRecords {
  readonly records: string;
}

export interface JsonArrayOptions {
  /** Called once, when no more pages will be read: at the end, on a failure, or when the client has gone away. */
  readonly close: () => void;
  /** Milliseconds the client may take to read all of it. */
  readonly timeout: number;
  /** How many lists may be streamed at once: fewer than there may be snapshots, so that pages are answered meanwhile. */
  readonly most: number;
  /** The most of the text that is collected, in UTF-16 units; 0 collects nothing. */
  readonly collectUpTo: () => number;
  /** Called when the pages fail after the first part was sent; `length` of that in UTF-16 units. Not when the client fails. */
  readonly failed: (error: unknown, length: number) => void;
  /** Called once when anything is collected: with the whole text, or without when it is longer or was not read to its end. */
  readonly collected: (chunks?: string[]) => void;
}

/** Milliseconds in which a client must read something. */
const STALL = 30_000;

let streams = 0;

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * What a handler returns for a list: the text of the array when it is a single page, else a stream of it that holds one
 * page at a time. A client that does not read is cut off: what it holds back, others need.
 */
export async function jsonArray(
  pages: AsyncIterator<JsonRecords>,
  options: JsonArrayOptions,
): Promise<string | StreamableFile> {
  try {
    const first = await pages.next();
    const second = first.done ? first : await pages.next();
    if (second.done) {
      options.close();
      return first.done ? '[]' : `[${first.value.records}]`;
    }
    return stream([first.value as JsonRecords, second.value], pages, options);
  } catch (error) {
    options.close();
    throw error;
  }
}

/** Chunks that have been sent before, as a stream like the first time. */
export function jsonArrayAgain(chunks: readonly string[]): StreamableFile {
  return new StreamableFile(Readable.from(chunks, { objectMode: false, highWaterMark: 1 }), { type: JSON_TYPE });
}

function stream(read: JsonRecords[], unread: AsyncIterator<JsonRecords>, options: JsonArrayOptions): StreamableFile {
  const { close, timeout, most, collectUpTo, failed, collected } = options;
  if (streams >= most) throw new DatabaseUnavailableError(`${most} long lists are being read already`);
  streams++;
  const limit = collectUpTo();
  let chunksSoFar: string[] | undefined = limit > 0 ? [] : undefined;
  let length = 0;
  let ended = false;
  const cutOff = (): void => void array.destroy(new Error('The client read the list too slowly'));
  const deadline = setTimeout(cutOff, timeout);
  const stall = setTimeout(cutOff, STALL);

  // Around the source alone: Node also throws into `chunks` when the client is cut off.
  async function next(): Promise<IteratorResult<JsonRecords>> {
    try {
      return await unread.next();
    } catch (error) {
      failed(error, length);
      throw error;
    }
  }

  async function* chunks(): AsyncGenerator<string> {
    for await (const chunk of arrayChunks(read, { next })) {
      length += chunk.length;
      if (length > limit) chunksSoFar = undefined;
      chunksSoFar?.push(chunk);
      yield chunk;
      stall.refresh();
    }
    ended = true;
  }

  const array = Readable.from(chunks(), { objectMode: false, highWaterMark: 1 });
  array.once('close', () => {
    clearTimeout(deadline);
    clearTimeout(stall);
    streams--;
    if (limit > 0) collected(ended ? chunksSoFar : undefined);
    close();
  });
  return new StreamableFile(array, { type: JSON_TYPE });
}

async function* arrayChunks(read: JsonRecords[], unread: AsyncIterator<JsonRecords>): AsyncGenerator<string> {
  let separator = '[';
  for (const { records } of read) {
    yield separator + records;
    separator = ',';
  }
  for (let next = await unread.next(); !next.done; next = await unread.next()) {
    yield separator + next.value.records;
    // Otherwise a fast reader would keep the event loop to itself until the list ends.
    await yieldToOthers();
  }
  yield ']';
}
