import { constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { LogBuffer } from './log-buffer.js';

const STDOUT = 1;

/**
 * The descriptor by which a worker inherits the standard output of its primary. It is not 0, 1 or 2: Node makes those blocking
 * when a process starts and ends, for all processes that share them.
 */
export const WORKER_LOG = 4;

let buffer: LogBuffer | undefined;

/**
 * The buffer of the process's standard output, of which there is one. What waits in it is written when the process exits.
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
 * A write to a pipe, socket or terminal that nobody reads would otherwise hold the process, or a thread of its pool, and
 * `process.exit` waits for those threads.
 */
function nonBlockingDescriptor(): number {
  if (!isatty(STDOUT)) {
    // Node sets a pipe or socket to non-blocking when this property is first read, and back when it exits.
    void process.stdout;
    return STDOUT;
  }
  try {
    // A terminal that Node has opened stays blocking. Opened again, the mode is ours alone.
    return openSync(`/dev/fd/${STDOUT}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDOUT;
  }
}
