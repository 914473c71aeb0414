import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  openSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { Logger } from '@nestjs/common';
import { Outage } from '../../../logging/outage.js';
import { engineErrors } from '../../database-events.js';
import type { SqliteConnection } from '../sqlite-connection.js';

/**
 * One descriptor of a database file for all data sources of this process. The last data source closes it, because
 * closing any descriptor releases all locks of this process on the file (https://sqlite.org/howtocorrupt.html section
 * 2.2).
 */
class SharedDescriptor {
  private static readonly open = new Map<string, SharedDescriptor>();
  private users = 0;

  private constructor(
    private readonly inode: string,
    readonly number: number,
  ) {}

  static of(path: string): SharedDescriptor {
    const { dev, ino } = statSync(path);
    const inode = `${dev}:${ino}`;
    const shared = this.open.get(inode) ?? new SharedDescriptor(inode, openSync(path, 'r+'));
    this.open.set(inode, shared);
    shared.users++;
    return shared;
  }

  /** Call it after the connections of the data source have been closed. */
  close(): void {
    if (--this.users > 0) return;
    SharedDescriptor.open.delete(this.inode);
    closeSync(this.number);
  }
}

/** Largest reserve in frames of the WAL, one for each page that a transaction changes. */
const LARGEST = 1000;
const SMALLEST = 16;

/** Pages of the reserve for the WAL index, which the next start needs, too. */
const WAL_INDEX = 8;

// Bytes; https://sqlite.org/walformat.html, section 2.
const WAL_HEADER = 32;
const FRAME_HEADER = 24;

/**
 * Suffix of the file that keeps the space of the WAL while no process has the database open, because SQLite then
 * removes the WAL.
 */
const WHILE_CLOSED = '-reserve';

const ZEROS = Buffer.alloc(64 * 1024);

/**
 * Space for deletes on a full volume, inside the files of the database, where no other process can take it. A delete
 * needs frames of the WAL, so the WAL is kept long. The WAL can be used again only after a checkpoint; the database
 * file gets new pages before the commit that adds them, so a checkpoint needs no space.
 */
export class DiskReserve {
  /** Path of the file itself: SQLite makes the WAL beside the file, not beside a link to it. */
  private readonly path: string;
  private readonly wal: string;
  private readonly database: SharedDescriptor;
  private readonly pageSize: number;
  private readonly readPages;
  private readonly frames: number;
  /** Pages of the database at the last commit. */
  private pages = 0;
  private readonly logger = new Logger('Database');
  private readonly missing = new Outage<Error>({
    interval: 60_000,
    onStart: ({ message }) =>
      this.logger.warn(
        `The disk reserve ${this.wal} cannot be made (${message}); only deletes are written until it can`,
      ),
  });

  /** @param connection the writing connection, in WAL mode */
  constructor(
    path: string,
    private readonly connection: SqliteConnection,
  ) {
    this.path = realpathSync(path);
    this.wal = `${this.path}-wal`;
    this.database = SharedDescriptor.of(path);
    this.pageSize = connection.database.pragma('page_size', { simple: true }) as number;
    this.readPages = connection.database.prepare('PRAGMA page_count').pluck();
    const free = Math.floor((freeBytes(path) + sizeOf(this.wal)) / (FRAME_HEADER + this.pageSize));
    this.frames = Math.min(LARGEST, Math.max(SMALLEST, Math.min(SMALLEST + WAL_INDEX, free - 1), Math.floor(free / 8)));
    // The other half of the WAL serves transactions that run until the checkpoint.
    connection.database.pragma(`wal_autocheckpoint = ${Math.floor(this.frames / 2)}`);
  }

  /** Size of the WAL in bytes. */
  get size(): number {
    return WAL_HEADER + this.frames * (FRAME_HEADER + this.pageSize);
  }

  /** Frees the space of `keep`. Call it before SQLite opens the database, which needs some of it. */
  static release(path: string): void {
    if (existsSync(path)) rmSync(`${realpathSync(path)}${WHILE_CLOSED}`, { force: true });
  }

  /**
   * Makes the WAL long enough if there is space. Otherwise only writes that reclaim space are allowed.
   * @throws SqliteError
   */
  makeAtStart(): void {
    this.connection.run('BEGIN IMMEDIATE');
    this.make();
    this.connection.run('ROLLBACK');
  }

  /**
   * Makes the WAL long enough if there is space. Call it inside a writing transaction, when no other process writes to
   * the WAL.
   * @returns whether the WAL is long enough
   */
  make(): boolean {
    try {
      const descriptor = openSync(this.wal, 'r+');
      try {
        // SQLite takes zeros as the end of the WAL.
        lengthen(descriptor, this.size);
      } finally {
        closeSync(descriptor);
      }
      return true;
    } catch (error) {
      this.missing.report(error as Error);
      return false;
    }
  }

  /**
   * Commits, with space in the database file for the pages that the transaction adds.
   * @throws SqliteError
   */
  commit(): void {
    const pages = this.readPages.get() as number;
    if (pages > this.pages) this.lengthenDatabase(pages * this.pageSize);
    this.connection.run('COMMIT');
    this.pages = pages;
  }

  /**
   * Moves the WAL into the database file, so that the next write starts it again.
   * @returns `false` while a list reads an older state
   */
  restartWal(): boolean {
    try {
      const [result] = this.connection.database.pragma('wal_checkpoint(RESTART)') as { busy: number }[];
      return result?.busy === 0;
    } catch {
      return false;
    }
  }

  /** Keeps the space while no process has the database open. Call it before the connections close. */
  keep(): void {
    if (sizeOf(this.wal) < this.size) return;
    try {
      DiskReserve.release(this.path);
      linkSync(this.wal, `${this.path}${WHILE_CLOSED}`);
    } catch {
      // The file system has no hard links.
      return;
    }
  }

  /** Call it after the connections have been closed. */
  close(): void {
    this.missing.close();
    this.database.close();
    // SQLite keeps the WAL while another process has the database open.
    if (existsSync(this.wal)) DiskReserve.release(this.path);
  }

  private lengthenDatabase(size: number): void {
    try {
      lengthen(this.database.number, size);
    } catch (error) {
      // SQLite reports all other errors itself.
      if (!/^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException).code ?? '')) return;
      engineErrors.publish('full');
      throw Object.assign(new Error('database or disk is full', { cause: error }), { code: 'SQLITE_FULL' });
    }
  }
}

/** Writes zeros, because a file without written blocks has no space on the volume. Writes all of them or none. */
function lengthen(descriptor: number, size: number): void {
  const before = fstatSync(descriptor).size;
  try {
    for (let end = before; end < size;) end += writeSync(descriptor, ZEROS, 0, Math.min(ZEROS.length, size - end), end);
  } catch (error) {
    ftruncateSync(descriptor, before);
    throw error;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function freeBytes(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}
