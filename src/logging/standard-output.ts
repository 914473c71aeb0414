import { constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { LogBuffer } from './log-buffer.js';

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
