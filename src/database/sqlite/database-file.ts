import { statSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { DatabaseUnavailableError } from '../errors.js';

/**
 * The database file and its WAL, by which inodes they were when the service opened them. When somebody removes or replaces
 * one, SQLite goes on writing what nobody will find: in WAL mode it does not look (SQLITE_FCNTL_HAS_MOVED is for rollback
 * journals). So the writer asks here after every commit, before it answers: two `stat`s, 2 us against a disk flush of 200.
 */
export class DatabaseFile {
  private readonly inodes = new Map<string, string>();
  private lost?: DatabaseUnavailableError;

  /** To be made when the connection that writes has been opened: the WAL exists by then. */
  constructor(readonly path: string) {
    for (const file of [path, `${path}-wal`]) {
      const inode = inodeOf(file);
      if (inode !== undefined) this.inodes.set(file, inode);
    }
  }

  /** @throws {DatabaseUnavailableError} from the moment on at which the files were seen to be others */
  check(): void {
    if (this.lost !== undefined) throw this.lost;
    for (const [file, inode] of this.inodes) {
      if (inodeOf(file) === inode) continue;
      this.lost = new DatabaseUnavailableError(
        `${file} was removed or replaced while the service ran; restart the service`,
      );
      new Logger('Database').error(this.lost.message);
      throw this.lost;
    }
  }

  /** @throws {DatabaseUnavailableError} when `check` has thrown before */
  assertKept(): void {
    if (this.lost !== undefined) throw this.lost;
  }
}

function inodeOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}
