import { Logger } from '@nestjs/common';
import type { Snapshots } from '../reading/snapshots.js';
import type { DiskReserve } from './disk-reserve.js';

/** Milliseconds until the next attempt while another process reads an old state. */
const PAUSE = 60_000;

/** Milliseconds for which `DatabaseFile.sizeOfWal` may return the old size. */
const SIZE_AGE = 100;

const CUT_OFF = 'The write-ahead log has grown too large; the lists that kept it from restarting are cut off';
const ELSEWHERE =
  'The write-ahead log has grown too large, and another process keeps it from restarting: end the program that reads ' +
  'the database file, such as a copy or the shell of SQLite';

/**
 * Makes the WAL small again, which grows while a reader uses an older state of the file
 * (https://sqlite.org/wal.html, section 6). It ends lists of this process, and logs readers of another process.
 */
export class LargeWal {
  private readonly logger = new Logger('Database');
  private pausedUntil = 0;

  constructor(
    private readonly reserve: DiskReserve,
    private readonly snapshots: Snapshots,
  ) {}

  /** Call it between transactions. */
  shrink(): void {
    const now = performance.now();
    if (now < this.pausedUntil) return;
    const ended = this.snapshots.endAll();
    const isElsewhere = !this.reserve.restartWal();
    this.pausedUntil = now + (isElsewhere ? PAUSE : SIZE_AGE);
    if (isElsewhere || ended > 0) this.logger.warn(isElsewhere ? ELSEWHERE : CUT_OFF);
  }
}
