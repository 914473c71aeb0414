import * as fs from 'node:fs';
import { Logger } from '@nestjs/common';
import { type EngineError, engineErrors } from '../../database-events.js';
import { DatabaseUnavailableError } from '../../errors.js';

/** Milliseconds for which the size of the WAL is cached. */
export const SIZE_AGE = 100;

const logger = new Logger('Database');

// Bytes; https://sqlite.org/walformat.html, section 2.
export const WAL_HEADER = 32;
export const FRAME_HEADER = 24;

/** A file that this process holds open. Linux reports `target` as the path of the descriptor (proc(5)). */
interface HeldFile {
  readonly path: string;
  readonly descriptor: number;
  readonly inode: string;
  readonly target?: string;
}

/**
 * The descriptors of the files that SQLite locks, by inode. All data sources of this process share them, and the last
 * one closes them: that releases all locks of the process on a file (https://sqlite.org/howtocorrupt.html section 2.2).
 */
const sharedDescriptors = new Map<string, { readonly descriptor: number; users: number }>();

/**
 * The database file, its WAL and the index of the WAL. If one is removed or replaced, or the WAL is truncated, SQLite
 * writes to lost files, behind lost frames, or over the writes of another process. So the writer calls `checkWal`
 * before every commit, and `check` before it responds.
 */
export class DatabaseFile {
  /** Path of the file itself: SQLite makes the WAL beside the file, not beside a link to it. */
  readonly path: string;
  readonly database: HeldFile;
  readonly wal: HeldFile;
  private readonly walIndex: HeldFile;
  private lost?: DatabaseUnavailableError;
  private walSize = 0;
  private walSizeUntil = 0;

  /** Create it after the writing connection was opened, because the WAL exists by then. */
  constructor(path: string) {
    this.path = fs.realpathSync(path);
    this.database = heldWithOthers(path);
    this.walIndex = heldWithOthers(`${this.path}-shm`);
    const wal = `${this.path}-wal`;
    this.wal = held(wal, fs.openSync(wal, 'r+'));
  }

  /** @throws {DatabaseUnavailableError} if the files were moved or replaced */
  check(): void {
    this.assertNotMoved();
    const moved = [this.database, this.wal, this.walIndex].find((file) => !isUnmoved(file));
    if (moved === undefined) return;
    this.setWalAside();
    this.markLost(`${moved.path} was removed or replaced`);
  }

  /** @throws {DatabaseUnavailableError} if the WAL is shorter than its index says, or an error with a code of SQLite */
  checkWal(): void {
    const end = this.endOfWal();
    // Not `fstat`: see `isUnmoved`. A process that truncates the WAL as SQLite does changes the index first.
    const isShorter = end > 0 && read(this.wal.descriptor, Buffer.alloc(1), end - 1) === 0;
    if (isShorter && this.endOfWal() === end) this.markLost(`${this.wal.path} was truncated`);
  }

  /** The size of the WAL in bytes, at most `SIZE_AGE` old. */
  sizeOfWal(): number {
    const now = performance.now();
    if (now >= this.walSizeUntil) {
      this.walSize = fs.fstatSync(this.wal.descriptor).size;
      this.walSizeUntil = now + SIZE_AGE;
    }
    return this.walSize;
  }

  /** @throws {DatabaseUnavailableError} if `check` or `checkWal` has thrown before */
  assertNotMoved(): void {
    if (this.lost !== undefined) throw this.lost;
  }

  /** Call it after the connections of the data source have been closed. */
  close(): void {
    this.setWalAside();
    fs.closeSync(this.wal.descriptor);
    for (const { inode, descriptor } of [this.walIndex, this.database]) {
      if (--sharedDescriptors.get(inode)!.users > 0) continue;
      sharedDescriptors.delete(inode);
      fs.closeSync(descriptor);
    }
  }

  /** Renames the WAL if another file has replaced the database: the next start would write the WAL into that file. */
  private setWalAside(): void {
    const inode = inodeOf(fs.statSync(this.path, { throwIfNoEntry: false }));
    if (inode === undefined || inode === this.database.inode || !isUnmoved(this.wal)) return;
    const aside = `${this.wal.path}-of-replaced-file-${Date.now()}`;
    try {
      fs.renameSync(this.wal.path, aside);
      // SQLite makes the index from the WAL.
      fs.rmSync(this.walIndex.path, { force: true });
      logger.error(`Another file has replaced ${this.path}. The last changes of the old file are in ${aside}`);
    } catch (error) {
      logger.error(`Rename ${this.wal.path} before the next start: ${(error as Error).message}`);
    }
  }

  private markLost(what: string): never {
    const message = `${what} while the service ran; restart the service`;
    this.lost = new DatabaseUnavailableError(message, undefined, 'unreachable');
    logger.error(message);
    throw this.lost;
  }

  /** Bytes of the WAL that are in use, as its index says (https://sqlite.org/walformat.html, section 2.1). */
  private endOfWal(): number {
    const header = new Uint32Array(5);
    read(this.walIndex.descriptor, header, 0);
    const frames = header[4]!;
    const pageSize = new Uint16Array(header.buffer)[7]!;
    return frames === 0 ? 0 : WAL_HEADER + frames * (FRAME_HEADER + (pageSize === 1 ? 65_536 : pageSize));
  }
}

/** Reports a volume that fails as SQLite does. @throws an error with a code of SQLite */
function read(descriptor: number, into: NodeJS.ArrayBufferView, position: number): number {
  try {
    return fs.readSync(descriptor, into, { position });
  } catch (error) {
    engineErrors.publish('io' satisfies EngineError);
    throw Object.assign(new Error('disk I/O error', { cause: error }), { code: 'SQLITE_IOERR_READ' });
  }
}

function heldWithOthers(path: string): HeldFile {
  const inode = inodeOf(fs.statSync(path))!;
  const shared = sharedDescriptors.get(inode) ?? { descriptor: fs.openSync(path, 'r+'), users: 0 };
  shared.users++;
  sharedDescriptors.set(inode, shared);
  return held(path, shared.descriptor);
}

function held(path: string, descriptor: number): HeldFile {
  return { path, descriptor, inode: inodeOf(fs.fstatSync(descriptor))!, target: targetOf(descriptor) };
}

/**
 * Reads the link of the descriptor, which is cheap. A `stat` of the file between two writes would add a second inode
 * update to each flush on Linux 6.13 and newer (https://docs.kernel.org/filesystems/multigrain-ts.html).
 */
function isUnmoved({ path, descriptor, inode, target }: HeldFile): boolean {
  if (target !== undefined && targetOf(descriptor) === target) return true;
  return inodeOf(fs.statSync(path, { throwIfNoEntry: false })) === inode;
}

function targetOf(descriptor: number): string | undefined {
  try {
    return fs.readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}

function inodeOf(stat: fs.Stats | undefined): string | undefined {
  return stat && `${stat.dev}:${stat.ino}`;
}
