import { execFileSync } from 'node:child_process';
import type { ServiceProcess } from '../service-process.js';

/** prlimit(1) is of Linux. */
export const canLimitFileSize = process.platform === 'linux';

/**
 * Makes every write beyond so many bytes of a file fail with EFBIG, which SQLite reports as SQLITE_IOERR_WRITE: a COMMIT fails
 * where the WAL is as long. On PostgreSQL, `TcpProxy.loseResponseTo('COMMIT')` leaves the same doubt.
 */
export function limitFileSize({ child }: ServiceProcess, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`]);
}
