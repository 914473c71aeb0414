import { pino } from 'pino';

/** Bytes of lines in one write. The system does not split a write to a pipe of at most `PIPE_BUF` bytes. */
const LARGEST_WRITE = 4096;
/** Milliseconds after which a line is written, and a failed write is repeated. */
const FLUSH_INTERVAL = 100;
/** Bytes that may wait while the reader of the log stalls: about 20 000 request lines. */
const LIMIT = 4 * 1024 * 1024;
/** Milliseconds that the end of the process waits for the reader of the log. */
const FINISH_TIMEOUT = 1000;
const FINISH_POLL = 20;

/**
 * A destination of pino that writes whole lines together to a non-blocking descriptor, with bounded memory. It never
 * throws, and only {@link LogBuffer.finish} waits (docs/adr/0053-non-blocking-log-buffer.md).
 */
export class LogBuffer {
  dropped = 0;
  /** Called when the buffer is empty again after lines were dropped. It should log their number. */
  onResume: (lines: number, since: Date) => void = () => {};

  private readonly destination;
  private unreported = 0;
  private unreportedSince = new Date();
  private error?: NodeJS.ErrnoException;

  /** @param descriptor of a file, a terminal, or a non-blocking pipe or socket */
  constructor(readonly descriptor: number) {
    const [maxWrite, minLength] = [LARGEST_WRITE, LARGEST_WRITE - 1];
    // Waiting for a full pipe would block the process. After an error, the destination tries again with the next line.
    const retryEAGAIN = (): boolean => false;
    const options = { dest: descriptor, sync: true, minLength, maxWrite, maxLength: LIMIT, retryEAGAIN };
    this.destination = pino.destination({ ...options, periodicFlush: FLUSH_INTERVAL });
    // pino's listener would end the log when its reader has gone, but a named pipe may get another reader.
    this.destination.removeAllListeners('error').on('error', (error: Error) => (this.error = error));
    this.destination.on('drop', () => {
      if (this.unreported === 0) {
        this.unreportedSince = new Date();
        this.destination.once('drain', () => this.report());
      }
      this.dropped += 1;
      this.unreported += 1;
    });
  }

  write(line: string): void {
    this.destination.write(line);
  }

  /** Writes all waiting lines, and returns the error of a write that failed. */
  flush(): NodeJS.ErrnoException | undefined {
    this.error = undefined;
    // One call may leave a block of less than `minLength` bytes.
    this.destination.flush();
    this.destination.flush();
    return this.error;
  }

  /** pino calls this after a fatal line. `flushSync` of the destination would wait without end for a closed pipe. */
  flushSync(): void {
    this.flush();
  }

  /** Writes all waiting lines when the process exits. After one second the rest is lost. */
  finish(): void {
    const deadline = performance.now() + FINISH_TIMEOUT;
    while (this.flush()?.code === 'EAGAIN' && performance.now() < deadline) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FINISH_POLL);
    }
    this.report();
    this.flush();
  }

  private report(): void {
    if (this.unreported === 0) return;
    const lines = this.unreported;
    this.unreported = 0;
    this.onResume(lines, this.unreportedSince);
  }
}

const STDOUT = 1;

/**
 * The descriptor under which a worker inherits the standard output of its primary. It is not 0, 1 or 2: Node makes
 * these blocking when a process starts and ends, for all processes that share them.
 */
export const WORKER_LOG = 4;

let buffer: LogBuffer | undefined;

/** The only buffer of the standard output, written when the process exits. Only the first call uses `descriptor`. */
export function standardOutput(descriptor = STDOUT): LogBuffer {
  if (buffer === undefined) {
    // Reading these properties sets a pipe or socket to non-blocking until Node exits. A terminal stays blocking.
    const { stdout, stderr } = process;
    // Node would end the process when their reader has gone.
    for (const stream of [stdout, stderr]) stream.on('error', () => {});
    buffer = new LogBuffer(descriptor);
    process.once('exit', () => buffer!.finish());
  }
  return buffer;
}
