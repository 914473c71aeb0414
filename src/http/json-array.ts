import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';

/**
 * What a handler returns for a list: the array itself when it is a single page, else a stream of one JSON array that
 * holds one page at a time.
 * @param close called once, when no more pages will be read: at the end, on a failure, or when the client has gone away
 */
export async function jsonArray<T>(
  pages: AsyncIterator<T[]>,
  close: () => Promise<void>,
): Promise<T[] | StreamableFile> {
  try {
    const first = await pages.next();
    const second = first.done ? first : await pages.next();
    if (second.done) {
      await close();
      return first.done ? [] : first.value;
    }
    const stream = Readable.from(chunks([first.value as T[], second.value], pages), {
      objectMode: false,
      highWaterMark: 1,
    });
    stream.once('close', () => void close());
    return new StreamableFile(stream, { type: 'application/json; charset=utf-8' });
  } catch (error) {
    await close();
    throw error;
  }
}

async function* chunks<T>(read: T[][], unread: AsyncIterator<T[]>): AsyncGenerator<string> {
  let separator = '[';
  const chunkOf = (page: T[]): string => {
    const chunk = separator + JSON.stringify(page).slice(1, -1);
    separator = ',';
    return chunk;
  };
  for (const page of read) yield chunkOf(page);
  for (let next = await unread.next(); !next.done; next = await unread.next()) {
    if (next.value.length > 0) yield chunkOf(next.value);
    // Otherwise a fast reader would keep the event loop to itself until the list ends.
    await yieldToOthers();
  }
  yield ']';
}
