import { readdirSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { DatabaseUnavailableError } from '../../errors.js';

/** The descriptors of this process on Linux: links to the current paths of the files (proc(5)). */
const DESCRIPTORS = '/proc/self/fd';

/** Milliseconds for which the size of the WAL is cached. */
const SIZE_AGE = 100;

/** A file that SQLite holds open. */
interface HeldFile {
  readonly path: string;
  readonly inode: string;
  /** SQLite's file descriptor in /proc, and the path to which it linked at first; absent without /proc. */
  descriptor?: { readonly link: string; readonly target: string };
}

/**
 * The database file and its WAL, as the service opened them. If they are removed or replaced, SQLite does not notice in
 * WAL mode and writes to lost files (SQLITE_FCNTL_HAS_MOVED works for rollback journals only). The writer therefore
 * calls `check` after every commit, before it responds.
 *
 * Reading the link of a descriptor is cheap. A `stat` of the file between two writes would add a second inode update to
 * each flush on Linux 6.13 and newer (https://docs.kernel.org/filesystems/multigrain-ts.html).
 */
export class DatabaseFile {
  /** The WAL is beside the file itself, not beside a link to it. */
  private readonly wal: string;
  private readonly files: HeldFile[] = [];
  private lost?: DatabaseUnavailableError;
  private walSize = 0;
  private walSizeUntil = 0;

  /** Create it after the writing connection was opened, because the WAL exists by then. */
  constructor(path: string) {
    this.wal = `${realpathSync(path)}-wal`;
    for (const file of [path, this.wal]) {
      const inode = inodeOf(statSync(file, { throwIfNoEntry: false }));
      if (inode !== undefined) this.files.push({ path: file, inode, descriptor: descriptorOf(inode) });
    }
  }

  /** @throws {DatabaseUnavailableError} if the files were moved or replaced */
  check(): void {
    if (this.lost !== undefined) throw this.lost;
    for (const file of this.files) if (!isWhereItWas(file)) this.checkByPath(file);
  }

  /** The size of the WAL in bytes, at most `SIZE_AGE` old. */
  sizeOfWal(): number {
    const now = performance.now();
    if (now >= this.walSizeUntil) {
      this.walSize = statSync(this.wal, { throwIfNoEntry: false })?.size ?? 0;
      this.walSizeUntil = now + SIZE_AGE;
    }
    return this.walSize;
  }

  /** @throws {DatabaseUnavailableError} if `check` has thrown before */
  assertNotMoved(): void {
    if (this.lost !== undefined) throw this.lost;
  }

  /** Checks the path itself, because the descriptor may have belonged to a connection that has closed since. */
  private checkByPath(file: HeldFile): void {
    if (inodeOf(statSync(file.path, { throwIfNoEntry: false })) !== file.inode) throw this.lose(file.path);
    file.descriptor = descriptorOf(file.inode);
  }

  private lose(file: string): DatabaseUnavailableError {
    this.lost = new DatabaseUnavailableError(
      `${file} was removed or replaced while the service ran; restart the service`,
      undefined,
      'away',
    );
    new Logger('Database').error(this.lost.message);
    return this.lost;
  }
}

function isWhereItWas({ descriptor }: HeldFile): boolean {
  try {
    return descriptor !== undefined && readlinkSync(descriptor.link) === descriptor.target;
  } catch {
    return false;
  }
}

function descriptorOf(inode: string): HeldFile['descriptor'] {
  try {
    const links = readdirSync(DESCRIPTORS).map((number) => `${DESCRIPTORS}/${number}`);
    const link = links.find((each) => inodeOf(statSync(each, { throwIfNoEntry: false })) === inode);
    return link === undefined ? undefined : { link, target: readlinkSync(link) };
  } catch {
    return undefined;
  }
}

function inodeOf(stat: Stats | undefined): string | undefined {
  return stat && `${stat.dev}:${stat.ino}`;
}
