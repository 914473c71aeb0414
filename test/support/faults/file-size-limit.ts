import { execFileSync } from 'node:child_process';
import type { ServiceProcess } from '../service-process.js';

/** prlimit(1) exists on Linux only. */
export const canLimitFileSize = process.platform === 'linux';

/**
 * Makes every write beyond this file size fail with EFBIG, which SQLite reports as SQLITE_IOERR_WRITE. A COMMIT then
 * fails if the WAL is that long. On PostgreSQL, `TcpProxy.loseResponseTo('COMMIT')` makes an unknown outcome, too.
 */
export function limitFileSize({ child }: ServiceProcess, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`]);
}
