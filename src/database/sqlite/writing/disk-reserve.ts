import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { Logger } from '@nestjs/common';
import { Episode } from '../../../logging/episode.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import { giveToFolderOwner, PRIVATE_FILE } from '../file/private-file.js';

const PAGE = 4096;
const LARGEST = 1000 * PAGE;
const SMALLEST = 16 * PAGE;

/**
 * Space set aside, so that records can be deleted on a full volume: a delete, too, first writes to the WAL, and the WAL
 * gives its space back only by a checkpoint, which may have to lengthen the database file. The file `<database>-reserve`
 * holds as much as the WAL may hold before its checkpoint; it is given up to what reclaims space, and made again before
 * anything else is written, when there is space for it.
 */
export class DiskReserve {
  private readonly file: string;
  private readonly size: number;
  private held: boolean;
  private readonly logger = new Logger('Database');
  private readonly missing = new Episode<Error>({
    interval: 60_000,
    began: ({ message }) =>
      this.logger.warn(`The reserve ${this.file} cannot be made (${message}); only deletes are written until it can`),
  });

  constructor(databasePath: string) {
    this.file = `${databasePath}-reserve`;
    const present = sizeOf(this.file);
    const isUsable = present % PAGE === 0 && present >= SMALLEST && present <= LARGEST;
    // One of a wrong size makes space for the one that replaces it.
    this.size = isUsable ? present : reserveFor(freeBytes(this.file) + present);
    this.held = isUsable || this.make();
  }

  /** Pages the WAL may hold before its checkpoint, at least 16: 0 would mean never (https://sqlite.org/pragma.html#pragma_wal_autocheckpoint). */
  get walPages(): number {
    return Math.floor(this.size / PAGE);
  }

  /**
   * Whether the reserve is there, or could be made again. While it is not, only what reclaims space may be written.
   * @param connection that writes, outside a transaction
   */
  isHeld(connection: SqliteConnection): boolean {
    if (!this.held) {
      checkpoint(connection);
      this.held = freeBytes(this.file) >= this.size && this.make();
    }
    return this.held;
  }

  /**
   * After a write failed on a full volume: moves the WAL into the database file, so that the next write starts it again.
   * @param reclaimsSpace whether that write will reclaim space; only then the reserve is given up for it
   * @returns whether there is space again for what takes some
   */
  reclaimSpace(connection: SqliteConnection, reclaimsSpace: boolean): boolean {
    // An empty WAL is moved with success and gives nothing.
    if (checkpoint(connection) && freeBytes(this.file) >= SMALLEST) return true;
    if (!reclaimsSpace) return false;
    this.remove();
    this.held = false;
    checkpoint(connection);
    return false;
  }

  private remove(): void {
    try {
      rmSync(this.file, { force: true });
    } catch (error) {
      this.missing.report(error as Error);
    }
  }

  private make(): boolean {
    try {
      rmSync(this.file, { force: true });
      const descriptor = openSync(this.file, 'wx', PRIVATE_FILE);
      try {
        giveToFolderOwner(descriptor, this.file);
        // Random, for file systems that store no zeros.
        if (writeSync(descriptor, randomBytes(this.size)) < this.size) throw new Error('short write');
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      return true;
    } catch (error) {
      this.missing.report(error as Error);
      this.remove();
      return false;
    }
  }
}

/** @returns whether the whole WAL could be moved and emptied */
function checkpoint(connection: SqliteConnection): boolean {
  try {
    const [result] = connection.database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result?.busy === 0;
  } catch {
    return false;
  }
}

function reserveFor(free: number): number {
  const share = Math.floor(free / 8 / PAGE) * PAGE;
  return Math.min(LARGEST, Math.max(SMALLEST, share));
}

function sizeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : 0;
}

function freeBytes(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}
