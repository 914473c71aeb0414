import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';

/** Records as the members of a JSON array, separated by commas, without its brackets. */
export interface JsonRecords {
  readonly records: string;
}

export interface JsonArrayOptions {
  /** Called once, when no more pages will be read: at the end, on a failure, or when the client has gone away. */
  readonly close: () => void;
  /** Milliseconds the client may take to read all of it. */
  readonly timeout: number;
  /** Called with the whole text, when it has been read to the end and is no longer than `keepUpTo`. */
  readonly keep: (chunks: string[]) => void;
  /** In UTF-16 units. */
  readonly keepUpTo: number;
}

/** Milliseconds in which a client must read something. */
const STALL = 30_000;

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
  const { close, timeout, keep, keepUpTo } = options;
  const kept: string[] = [];
  let length = 0;
  const cutOff = (): void => void array.destroy(new Error('The client read the list too slowly'));
  const deadline = setTimeout(cutOff, timeout);
  const stall = setTimeout(cutOff, STALL);

  async function* chunks(): AsyncGenerator<string> {
    for await (const chunk of arrayChunks(read, unread)) {
      length += chunk.length;
      if (length <= keepUpTo) kept.push(chunk);
      else kept.length = 0;
      yield chunk;
      stall.refresh();
    }
    if (length <= keepUpTo) keep(kept);
  }

  const array = Readable.from(chunks(), { objectMode: false, highWaterMark: 1 });
  array.once('close', () => {
    clearTimeout(deadline);
    clearTimeout(stall);
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
