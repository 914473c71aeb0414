import { constants, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type DestinationStream, symbols } from 'pino';

/** Bytes of lines in one write. The system does not split a write to a pipe of at most `PIPE_BUF` bytes. */
const LARGEST_WRITE = 4096;
/** Milliseconds after which a line is written even if no other follows. */
const LONGEST_DELAY = 100;
/** Bytes that may wait while the reader of the log stalls: about 20 000 request lines. */
const REQUESTS_LIMIT = 4 * 1024 * 1024;
/** Bytes in all. The part above the limit of requests is reserved for warnings and errors. */
const TOTAL_LIMIT = 2 * REQUESTS_LIMIT;
/** pino's number for `warn`. */
const WARN = 40;
/** Milliseconds between attempts to write to a full pipe, shortest and longest; doubled while it stays full. */
const RETRY_FULL = [5, 100] as const;
/** Milliseconds between attempts after any other error, such as a closed pipe or a full disk. */
const RETRY_FAILED = 1000;
/** Milliseconds that the end of the process waits for the reader of the log. */
const FINISH_TIMEOUT = 1000;
const FINISH_POLL = 20;
/** Milliseconds after which dropped lines are reported, even if the buffer does not empty. */
const REPORT_INTERVAL = 60_000;

/**
 * A destination of pino that writes lines together to a non-blocking descriptor, with bounded memory. It never throws,
 * and only {@link LogBuffer.finish} waits. Each write has whole lines, so that several processes can share a pipe. See
 * docs/adr/0053-non-blocking-log-buffer.md.
 */
export class LogBuffer implements DestinationStream {
  /** Makes pino set `lastLevel` before each `write`. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;

  /** Lines dropped since the start, by pino's number for their level. */
  readonly dropped = new Map<number, number>();
  /** Called when lines can be written again after some were dropped. It should log the number. */
  onResume: (lines: number, since: Date) => void = () => {};

  /** Waiting writes: whole lines of at most `LARGEST_WRITE` bytes, or one longer line. */
  private readonly blocks: Buffer[] = [];
  private blockBytes = 0;
  /** Lines that are not yet in a block. */
  private lines = '';
  private lineBytes = 0;
  private timer?: NodeJS.Timeout;
  /** Milliseconds until a failed write is repeated; 0 after a successful write. */
  private retryDelay = 0;
  private unreported = 0;
  private unreportedSince = 0;

  /** @param descriptor of a file, or of a non-blocking pipe, socket or terminal */
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

  /** Writes all waiting lines, unless the last write failed; then the timer repeats it. */
  flush(done?: () => void): void {
    if (this.retryDelay === 0) this.drain();
    else this.endBlock();
    done?.();
  }

  /** pino calls this after a fatal line. */
  flushSync(): void {
    this.flush();
  }

  /** Writes all waiting lines when the process exits. After one second the rest is lost. */
  finish(): void {
    this.report();
    const deadline = performance.now() + FINISH_TIMEOUT;
    this.drain();
    while (this.retryDelay > 0 && this.retryDelay < RETRY_FAILED && performance.now() < deadline) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FINISH_POLL);
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

  /** Writes the first block. A socket, a disk that is almost full, or a long line may take only a part of it. */
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

const STDOUT = 1;

/**
 * The descriptor under which a worker inherits the standard output of its primary. It is not 0, 1 or 2: Node makes
 * these blocking when a process starts and ends, for all processes that share them.
 */
export const WORKER_LOG = 4;

let buffer: LogBuffer | undefined;

/**
 * The only buffer of the process's standard output. Its lines are written when the process exits.
 * @param descriptor for the first call in a worker
 */
export function standardOutput(descriptor?: number): LogBuffer {
  if (buffer === undefined) {
    buffer = new LogBuffer(descriptor ?? nonBlockingDescriptor());
    process.once('exit', () => buffer!.finish());
  }
  return buffer;
}

/**
 * Standard output in non-blocking mode. A blocking write to a stalled pipe or terminal would stop the process or a
 * thread of its pool, and `process.exit` waits for these threads.
 */
function nonBlockingDescriptor(): number {
  if (!isatty(STDOUT)) {
    // Reading this property makes Node set a pipe or socket to non-blocking until it exits.
    void process.stdout;
    return STDOUT;
  }
  try {
    // Node leaves a terminal blocking. A new descriptor has its own mode.
    return openSync(`/dev/fd/${STDOUT}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDOUT;
  }
}
