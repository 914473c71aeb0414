import { writeSync } from 'node:fs';
import { type DestinationStream, symbols } from 'pino';

/** Bytes of lines in one write. The system keeps a write to a pipe of at most `PIPE_BUF` bytes in one piece. */
const LARGEST_WRITE = 4096;
/** Milliseconds after which a line is written even if no other follows. */
const LONGEST_DELAY = 100;
/** Bytes that may wait for a reader that does not read: about 20 000 lines of requests. */
const REQUESTS_LIMIT = 4 * 1024 * 1024;
/** Bytes in all. What lies above the limit of requests is kept for warnings and errors. */
const TOTAL_LIMIT = 2 * REQUESTS_LIMIT;
/** pino's number for `warn`. */
const WARN = 40;
/** Milliseconds between attempts to write to a full pipe; doubled from the first to the second while it stays full. */
const RETRY_FULL = [5, 100] as const;
/** Milliseconds between attempts after any other error: a reader that has gone (a named pipe may get another), a full disk. */
const RETRY_FAILED = 1000;
/** Milliseconds for which the end of the process waits for a reader. */
const FINISH_TIMEOUT = 1000;
const FINISH_POLL = 20;
/** Milliseconds after which dropped lines are reported, even if the reader stays too slow for the buffer to empty. */
const REPORT_INTERVAL = 60_000;

/**
 * A destination of pino that writes lines together, in bounded memory, to a descriptor that does not block. It never throws
 * and never waits, except in {@link LogBuffer.finish}. Several processes may write to one pipe: each write is of whole lines.
 * See docs/adr/0053-non-blocking-log-buffer.md.
 */
export class LogBuffer implements DestinationStream {
  /** Makes pino set `lastLevel` before each `write`. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;

  /** Lines dropped since the start, by pino's number for their level. */
  readonly dropped = new Map<number, number>();
  /** Called when lines can be written again after some were dropped; expected to log that. */
  onResume: (lines: number, since: Date) => void = () => {};

  /** Writes that wait: whole lines of at most `LARGEST_WRITE` bytes, or one longer line. */
  private readonly blocks: Buffer[] = [];
  private blockBytes = 0;
  /** Lines that are not yet in a block. */
  private lines = '';
  private lineBytes = 0;
  private timer?: NodeJS.Timeout;
  /** Milliseconds until a failed write is tried again; 0 after a write that succeeded. */
  private retryDelay = 0;
  private unreported = 0;
  private unreportedSince = 0;

  /** @param descriptor of a file, or of anything else in non-blocking mode */
  constructor(readonly descriptor: number) {}

  /** @param level pino's number */
  write(line: string, level = this.lastLevel): void {
    const bytes = Buffer.byteLength(line);
    if (this.blockBytes + this.lineBytes + bytes > (level < WARN ? REQUESTS_LIMIT : TOTAL_LIMIT)) {
      this.drop(level);
      return;
    }
    if (this.lineBytes + bytes > LARGEST_WRITE) this.flush();
    this.lines += line;
    this.lineBytes += bytes;
    if (level >= WARN) this.flush();
    else this.timer ??= setTimeout(this.drain, LONGEST_DELAY).unref();
  }

  /** Writes what waits, unless the last attempt to write failed; then its timer tries again. */
  flush(done?: () => void): void {
    if (this.retryDelay === 0) this.drain();
    else this.endBlock();
    done?.();
  }

  /** What pino calls after a fatal line. */
  flushSync(): void {
    this.flush();
  }

  /** Writes what waits, for at most a second; what a reader does not take by then is lost. For the end of the process. */
  finish(): void {
    this.report();
    const deadline = performance.now() + FINISH_TIMEOUT;
    this.drain();
    while (this.retryDelay > 0 && this.retryDelay < RETRY_FAILED && performance.now() < deadline) {
      pause(FINISH_POLL);
      this.drain();
    }
  }

  private readonly drain = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.endBlock();
    try {
      while (this.blocks.length > 0) this.writeBlock();
      this.retryDelay = 0;
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN';
      this.retryDelay = isFull ? Math.min(Math.max(2 * this.retryDelay, RETRY_FULL[0]), RETRY_FULL[1]) : RETRY_FAILED;
      this.timer = setTimeout(this.drain, this.retryDelay).unref();
    }
  };

  private endBlock(): void {
    if (this.lines === '') return;
    this.blocks.push(Buffer.from(this.lines));
    this.blockBytes += this.lineBytes;
    this.lines = '';
    this.lineBytes = 0;
  }

  /** A long line, or a socket or disk that is nearly full, may be written in part: the rest stays. */
  private writeBlock(): void {
    const block = this.blocks[0]!;
    const written = writeSync(this.descriptor, block);
    this.blockBytes -= written;
    if (written < block.length) this.blocks[0] = block.subarray(written);
    else this.blocks.shift();
    if (this.unreported > 0 && this.isReportDue()) this.report();
  }

  private drop(level: number): void {
    this.dropped.set(level, (this.dropped.get(level) ?? 0) + 1);
    if (this.unreported === 0) this.unreportedSince = Date.now();
    this.unreported += 1;
  }

  private isReportDue(): boolean {
    return this.blockBytes < REQUESTS_LIMIT / 2 || Date.now() - this.unreportedSince > REPORT_INTERVAL;
  }

  private report(): void {
    if (this.unreported === 0) return;
    const lines = this.unreported;
    this.unreported = 0;
    this.onResume(lines, new Date(this.unreportedSince));
  }
}

function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
