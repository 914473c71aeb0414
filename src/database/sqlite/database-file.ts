import { type Stats, statSync } from 'node:fs';
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
      const inode = inodeOf(statSync(file, { throwIfNoEntry: false }));
      if (inode !== undefined) this.inodes.set(file, inode);
    }
  }

  /**
   * @returns the size of the WAL, in bytes
   * @throws {DatabaseUnavailableError} from the moment on at which the files were seen to be others
   */
  check(): number {
    if (this.lost !== undefined) throw this.lost;
    let size = 0;
    for (const [file, inode] of this.inodes) {
      const stat = statSync(file, { throwIfNoEntry: false });
      if (inodeOf(stat) !== inode) throw this.lose(file);
      size = stat!.size;
    }
    return size;
  }

  private lose(file: string): DatabaseUnavailableError {
    this.lost = new DatabaseUnavailableError(
      `${file} was removed or replaced while the service ran; restart the service`,
    );
    new Logger('Database').error(this.lost.message);
    return this.lost;
  }

  /** @throws {DatabaseUnavailableError} when `check` has thrown before */
  assertKept(): void {
    if (this.lost !== undefined) throw this.lost;
  }
}

function inodeOf(stat: Stats | undefined): string | undefined {
  return stat && `${stat.dev}:${stat.ino}`;
}
