import type { Readable } from 'node:stream';
import type { LogBuffer } from './log-buffer.js';

/** Bytes of the log that may wait in the primary. What the reader of the log does not take beyond that, the workers keep or drop. */
const LIMIT = 1024 * 1024;
/** Milliseconds between two looks at whether the reader goes on. */
const LOOK_INTERVAL = 20;
/** pino's number for `error`: what has come this far is dropped last. */
const LEVEL = 50;

/**
 * Writes the lines of a worker's log into that of the service, each whole: two processes that write to one pipe or file themselves
 * would break each other's lines where a write is longer than the pipe takes at once.
 */
export function forwardLines(source: Readable, target: LogBuffer): void {
  let rest = '';
  const write = (lines: string): void => {
    target.write(lines, LEVEL);
    target.flush();
  };
  source.setEncoding('utf8');
  source.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end === 0) {
      rest += text;
      return;
    }
    write(rest + text.slice(0, end));
    rest = text.slice(end);
    if (target.waiting <= LIMIT) return;
    source.pause();
    const look = setInterval(() => {
      if (target.waiting > LIMIT) return;
      clearInterval(look);
      source.resume();
    }, LOOK_INTERVAL).unref();
  });
  // A process that was killed while it wrote has left a piece; what follows begins a line of its own.
  source.on('end', () => {
    if (rest !== '') write(`${rest}\n`);
  });
}
