import { existsSync, readFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';

/** Descriptors that are left to files, the database and the management port. */
const OTHER_DESCRIPTORS = 300;

/**
 * Reduces a limit of connections to the descriptors of this process. Without a descriptor Node resets new connections,
 * and the primary waits endlessly for the worker that got one.
 */
export function affordableConnections(connections: number): number {
  const descriptors = maxOpenFiles();
  const affordable = Math.max(1, Math.min(connections, descriptors - OTHER_DESCRIPTORS));
  if (affordable < connections) {
    new Logger('Service').warn(
      `This process can open at most ${descriptors} files, so it keeps ${affordable} of ${connections} connections; ` +
        `raise the limit (\`ulimit -n\`) to ${connections + OTHER_DESCRIPTORS}, or lower MAX_CONNECTIONS`,
    );
  }
  return affordable;
}

/** The limit of open files on Linux (proc(5)), which Node raises at its start as far as it may. */
function maxOpenFiles(): number {
  const file = '/proc/self/limits';
  const limit = existsSync(file) && /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8'))?.[1];
  return limit ? Number(limit) : Infinity;
}
