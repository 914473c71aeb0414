import { closeSync, constants, existsSync, openSync } from 'node:fs';

/** Modes of what this service makes: for its own user alone, whatever the umask allows others. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/**
 * Makes an empty file for SQLite, which would make one that all may read. Its `-wal`, `-shm` and `-journal` get the mode of the
 * file (findCreateFileMode of its os_unix.c). One that exists stays as it is; why one can't be made, SQLite says when it opens it.
 */
export function createPrivately(path: string): void {
  // Not opened where it exists: closing any descriptor of a file gives up all locks that this process holds on it
  // (https://sqlite.org/howtocorrupt.html section 2.2).
  if (existsSync(path)) return;
  // Not exclusively: a link that leads nowhere yet is followed, as SQLite would.
  try {
    closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR, PRIVATE_FILE));
  } catch {
    return;
  }
}
