import { readdirSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { DatabaseUnavailableError } from '../../errors.js';

/** The descriptors of this process on Linux, each a link to the path its file has now (proc(5)). */
const DESCRIPTORS = '/proc/self/fd';

/** Milliseconds for which the size of the WAL is believed. */
const SIZE_AGE = 100;

/** A file that SQLite holds open. */
interface HeldFile {
  readonly path: string;
  readonly inode: string;
  /** SQLite's descriptor of it and where that led at first; absent where there is no /proc. */
  descriptor?: { readonly link: string; readonly target: string };
}

/**
 * The database file and its WAL, as the service opened them. When somebody removes or replaces one, SQLite goes on writing
 * what nobody will find: in WAL mode it does not look (SQLITE_FCNTL_HAS_MOVED is for rollback journals). So the writer asks
 * here after every commit, before it responds.
 *
 * Asking the file itself would cost more than all else in a small commit: on Linux 6.13 and newer, a `stat` between two
 * writes makes the second give the inode a new time, which the next flush then has to put on disk, too
 * (https://docs.kernel.org/filesystems/multigrain-ts.html). Where a descriptor leads can be read without that.
 */
export class DatabaseFile {
  /** Beside the file itself, not beside a link to it. */
  private readonly wal: string;
  private readonly files: HeldFile[] = [];
  private lost?: DatabaseUnavailableError;
  private walSize = 0;
  private walSizeUntil = 0;

  /** To be made when the connection that writes has been opened: the WAL exists by then. */
  constructor(path: string) {
    this.wal = `${realpathSync(path)}-wal`;
    for (const file of [path, this.wal]) {
      const inode = inodeOf(statSync(file, { throwIfNoEntry: false }));
      if (inode !== undefined) this.files.push({ path: file, inode, descriptor: descriptorOf(inode) });
    }
  }

  /** @throws {DatabaseUnavailableError} from the moment on at which the files were seen to be others */
  check(): void {
    if (this.lost !== undefined) throw this.lost;
    for (const file of this.files) if (!isWhereItWas(file)) this.checkByPath(file);
  }

  /** The size of the WAL in bytes, a moment ago. */
  sizeOfWal(): number {
    const now = performance.now();
    if (now >= this.walSizeUntil) {
      this.walSize = statSync(this.wal, { throwIfNoEntry: false })?.size ?? 0;
      this.walSizeUntil = now + SIZE_AGE;
    }
    return this.walSize;
  }

  /** @throws {DatabaseUnavailableError} when `check` has thrown before */
  assertNotMoved(): void {
    if (this.lost !== undefined) throw this.lost;
  }

  /** The descriptor may have been another connection's, which has closed since. */
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
