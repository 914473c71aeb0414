import {
  existsSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { Logger } from '@nestjs/common';
import { Outage } from '../../../logging/outage.js';
import { engineErrors } from '../../database-events.js';
import { type DatabaseFile, FRAME_HEADER, SIZE_AGE, WAL_HEADER } from '../file/database-file.js';
import { isQuotaUsedUp } from '../file/file-problem.js';
import type { Snapshots } from '../reading/snapshots.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import { fullVolumeError } from '../sqlite-errors.js';

/** Largest reserve in frames of the WAL, one for each page that a transaction changes. */
const LARGEST = 1000;
const SMALLEST = 16;

const WAL_INDEX = 8;

/** Suffix of the file that keeps the space while no process has the database open, because SQLite removes the WAL. */
const WHILE_CLOSED = '-reserve';

const ZEROS = Buffer.alloc(64 * 1024);

/** Milliseconds until the next attempt to shrink the WAL while another process reads an old state. */
const PAUSE = 60_000;

const LISTS_CUT_OFF = 'The write-ahead log has grown too large; the lists that kept it from restarting are cut off';
const OTHER_PROCESS_READS =
  'The write-ahead log has grown too large, and another process keeps it from restarting: end the program that reads ' +
  'the database file, such as a copy or the shell of SQLite';

/**
 * Space for deletes on a full volume (docs/adr/0012-disk-reserve-for-deletes.md): the WAL is kept long, and the file
 * gets new pages before the commit that adds them, so a checkpoint needs no space.
 */
export class DiskReserve {
  /** Bytes that the WAL should have. */
  readonly size: number;
  private readonly pageSize: number;
  private readonly readPages;
  /** Pages of the database when the transaction began. */
  private pages = 0;
  private shrinkAfter = 0;
  private readonly logger = new Logger('Database');
  private readonly missing = new Outage({ interval: 60_000, onStart: (message) => this.logger.warn(message) });

  /** @param connection the writing connection, in WAL mode */
  constructor(
    private readonly file: DatabaseFile,
    private readonly connection: SqliteConnection,
    private readonly snapshots: Snapshots,
  ) {
    this.pageSize = connection.database.pragma('page_size', { simple: true }) as number;
    this.readPages = connection.database.prepare('PRAGMA page_count').pluck();
    const { bavail, bsize } = statfsSync(dirname(file.path));
    const frame = FRAME_HEADER + this.pageSize;
    const free = Math.floor((bavail * bsize + file.sizeOfWal()) / frame);
    const frames = Math.min(
      LARGEST,
      Math.max(SMALLEST, Math.min(SMALLEST + WAL_INDEX, free - 1), Math.floor(free / 8)),
    );
    this.size = WAL_HEADER + frames * frame;
    // The other half of the WAL serves transactions that run until the checkpoint.
    connection.database.pragma(`wal_autocheckpoint = ${Math.floor(frames / 2)}`);
  }

  /** Frees the space of `keep`. Call it before SQLite opens the database, which needs some of it. */
  static release(path: string): void {
    if (existsSync(path)) rmSync(`${realpathSync(path)}${WHILE_CLOSED}`, { force: true });
  }

  /** @throws SqliteError */
  makeAtStart(): void {
    this.begin();
    this.make();
    this.connection.run('ROLLBACK');
  }

  /** Begins a writing transaction. @throws SqliteError */
  begin(): void {
    // A DEFERRED transaction that reads first fails to write if another process has committed in between.
    this.connection.run('BEGIN IMMEDIATE');
    this.pages = this.readPages.get() as number;
  }

  /** Makes the WAL long enough, inside a transaction. Returns `false` if only writes that reclaim space are allowed. */
  make(): boolean {
    try {
      // SQLite takes zeros as the end of the WAL.
      lengthen(this.file.wal.descriptor, this.size);
      return true;
    } catch (error) {
      const { message } = error as Error;
      this.missing.report(
        `The disk reserve ${this.file.wal.path} cannot be made (${message}); only deletes are written until it can`,
      );
      return false;
    }
  }

  /** Commits, after lengthening the database file for the pages that the transaction adds. @throws SqliteError */
  commit(): void {
    const pages = this.readPages.get() as number;
    try {
      // Only new pages: another process may move the others into the file now, without the lock of this transaction.
      if (pages > this.pages) {
        lengthen(this.file.database.descriptor, pages * this.pageSize, this.pages * this.pageSize);
      }
    } catch (error) {
      // SQLite reports all other errors itself.
      if (/^(ENOSPC|EFBIG)$/.test((error as NodeJS.ErrnoException).code ?? '') || isQuotaUsedUp(error)) {
        engineErrors.publish('full');
        throw fullVolumeError(error);
      }
    }
    this.connection.run('COMMIT');
  }

  /**
   * Moves the WAL into the file, so that the next write starts it again.
   * @returns `false` while a reader uses an older state; `undefined` if the volume fails
   */
  restartWal(): boolean | undefined {
    try {
      const [result] = this.connection.database.pragma('wal_checkpoint(RESTART)') as { busy: number }[];
      return result?.busy === 0;
    } catch {
      return undefined;
    }
  }

  /**
   * Shrinks the WAL, which grows while a reader uses an older state (https://sqlite.org/wal.html, section 6).
   * Ends lists of this process, and logs readers of another process. Call it between transactions.
   */
  shrinkWal(): void {
    const now = performance.now();
    if (now < this.shrinkAfter) return;
    const ended = this.snapshots.endAll();
    const isRestarted = this.restartWal();
    this.shrinkAfter = now + (isRestarted ? SIZE_AGE : PAUSE);
    if (isRestarted === false) this.logger.warn(OTHER_PROCESS_READS);
    else if (ended > 0) this.logger.warn(LISTS_CUT_OFF);
  }

  /** Keeps the space while no process has the database open. Call it before the connections close. */
  keep(): void {
    const { path, wal } = this.file;
    try {
      linkSync(wal.path, `${path}${WHILE_CLOSED}`);
    } catch {
      // The file system has no hard links, or another process has made the link.
    }
  }

  /** Call it after the connections have been closed. */
  close(): void {
    this.missing.close();
    const reserve = `${this.file.path}${WHILE_CLOSED}`;
    // SQLite keeps the WAL while another process has the database open.
    if (existsSync(this.file.wal.path)) DiskReserve.release(this.file.path);
    else if (existsSync(reserve) && statSync(reserve).size > this.size) truncateSync(reserve, this.size);
  }
}

/** Writes zeros behind `start` and the end of the file, all or none: only written blocks have space on the volume. */
function lengthen(descriptor: number, size: number, start = 0): void {
  const before = Math.max(start, fstatSync(descriptor).size);
  try {
    for (let end = before; end < size;) end += writeSync(descriptor, ZEROS, 0, Math.min(ZEROS.length, size - end), end);
  } catch (error) {
    ftruncateSync(descriptor, before);
    throw error;
  }
}
