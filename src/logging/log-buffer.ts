import { writevSync } from 'node:fs';
import { symbols } from 'pino';

/**
 * Bytes that wait for each other before they are written: a write for every line would cost each request a system call. See
 * docs/adr/0105-log-in-blocks-of-64-kib.md.
 */
const WRITE_AT = 65_536;
/** Characters after which lines become bytes: until then they hold on to the strings that they were made of. */
const ENCODE_AT = 4096;
/** Milliseconds after which a line is written even if no other follows. */
const LONGEST_DELAY = 1000;
/**
 * Bytes that may wait for a reader that does not read. About 20 000 lines of requests: a collector that restarts misses
 * nothing at 2 000 requests a second for 10 s, and the memory is small beside that of the process.
 */
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

/** Chunks in one write, at most; the system takes up to 1024. */
const LARGEST_WRITE = 64;

type State = 'writing' | 'full' | 'failed';

/**
 * Collects lines and writes them together, in bounded memory, to a descriptor that does not block. It never throws and
 * never waits, but for {@link LogBuffer.finish}. Where a reader does not take what is written, lines below `warn` are
 * dropped beyond 4 MiB, other lines beyond 8 MiB; the newest go, in both cases, and each is counted.
 */
export class LogBuffer {
  /** Makes pino set `lastLevel` before each `write`. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;

  /** Lines dropped since the start, by pino's number for their level. */
  readonly dropped = new Map<number, number>();
  /** Called when lines can be written again after some were dropped; expected to log that. */
  onResume: (lines: number, since: Date) => void = () => {};

  private state: State = 'writing';
  /** Lines that are not yet bytes. */
  private lines = '';
  private chunks: Buffer[] = [];
  private chunkBytes = 0;
  private timer?: NodeJS.Timeout;
  private retryDelay = 0;
  private unreported = 0;
  private unreportedSince = 0;

  /** @param descriptor of a file, or of anything else in non-blocking mode */
  constructor(private readonly descriptor: number) {}

  /** What waits to be written, in bytes where it is made of ASCII. */
  get waiting(): number {
    return this.chunkBytes + this.lines.length;
  }

  /** @param level pino's number */
  write(line: string, level = this.lastLevel): void {
    if (this.waiting + line.length > (level < WARN ? REQUESTS_LIMIT : TOTAL_LIMIT)) {
      this.drop(level);
      return;
    }
    this.lines += line;
    if (this.lines.length >= ENCODE_AT) this.makeChunk();
    if (this.chunkBytes >= WRITE_AT && this.state === 'writing') this.drain();
    else if (this.timer === undefined) this.schedule(LONGEST_DELAY);
  }

  /** Writes what waits, unless the last attempt to write failed; then its timer tries again. */
  flush(done?: () => void): void {
    if (this.state === 'writing') this.drain();
    else this.makeChunk();
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
    while (this.state === 'full' && performance.now() < deadline) {
      pause(FINISH_POLL);
      this.drain();
    }
  }

  private readonly drain = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.makeChunk();
    try {
      this.writeChunks();
      this.state = 'writing';
      this.retryDelay = 0;
    } catch (error) {
      this.retryLater((error as NodeJS.ErrnoException).code);
    }
  };

  private makeChunk(): void {
    if (this.lines === '') return;
    const chunk = Buffer.from(this.lines);
    this.lines = '';
    this.chunks.push(chunk);
    this.chunkBytes += chunk.length;
  }

  private writeChunks(): void {
    while (this.chunks.length > 0) {
      this.forget(writevSync(this.descriptor, this.chunks.slice(0, LARGEST_WRITE)));
      if (this.unreported > 0 && this.isReportDue()) this.report();
    }
  }

  /** Takes what was written, which may end within a chunk, from those that wait. */
  private forget(written: number): void {
    this.chunkBytes -= written;
    let [count, rest] = [0, written];
    while (count < this.chunks.length && rest >= this.chunks[count]!.length) {
      rest -= this.chunks[count]!.length;
      count += 1;
    }
    this.chunks.splice(0, count);
    if (rest > 0) this.chunks[0] = this.chunks[0]!.subarray(rest);
  }

  private retryLater(code: string | undefined): void {
    if (code === 'EAGAIN') {
      this.state = 'full';
      this.retryDelay = Math.min(Math.max(2 * this.retryDelay, RETRY_FULL[0]), RETRY_FULL[1]);
    } else {
      this.state = 'failed';
      this.retryDelay = RETRY_FAILED;
    }
    this.schedule(this.retryDelay);
  }

  private schedule(delay: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.drain, delay).unref();
  }

  private drop(level: number): void {
    this.dropped.set(level, (this.dropped.get(level) ?? 0) + 1);
    if (this.unreported === 0) this.unreportedSince = Date.now();
    this.unreported += 1;
  }

  private isReportDue(): boolean {
    return this.chunkBytes < REQUESTS_LIMIT / 2 || Date.now() - this.unreportedSince > REPORT_INTERVAL;
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
