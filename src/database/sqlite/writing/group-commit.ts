import { Logger } from '@nestjs/common';
import { DiskFullError, OutcomeUnknownError } from '../../errors.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import type { DatabaseFile } from '../file/database-file.js';
import type { DiskReserve } from './disk-reserve.js';
import { isFull, translated } from '../sqlite-errors.js';

const REACHING_BEYOND = /\bROLLBACK\b|(?:\bCONFLICT\s+|\bRAISE\s*\(\s*)FAIL\b|\bINITIALLY\b.*\bDEFERRED\b/is;

/** A job that waits for the commit: it has succeeded, or was rejected because of rows that are not on disk yet. */
interface PendingJob {
  readonly reclaimsSpace: boolean;
  done(transactions: number): void;
  fail(error: Error): void;
}

interface Batch {
  readonly began: number;
  /** Whether the volume is full. Then only jobs that reclaim space may join, each with its own commit. */
  readonly reclaimingOnly: boolean;
  readonly pending: PendingJob[];
  size: number;
}

// Limits of a batch in jobs and milliseconds. Under less load, a batch ends with the first turn without a job.
const LARGEST_BATCH = 500;
const LONGEST_BATCH = 20;

/** Bytes of the WAL above which long readers are ended, because they keep SQLite from restarting it. */
const LARGEST_WAL = 128 * 1024 * 1024;

/** Milliseconds until a full volume is tried again. */
const FULL_PAUSE = 100;

/** A recovery may find the frames of a failed COMMIT in the WAL (https://sqlite.org/walformat.html, section 4). */
const UNKNOWN = 'The COMMIT failed, but the file may contain it';

/**
 * One transaction of SQLite for many jobs. The disk flush of the commit costs most, so waiting jobs share one:
 *
 *     BEGIN IMMEDIATE
 *       ...A's statements...                                    A asks to commit, and gets no response yet
 *       SAVEPOINT job;  ...B's statements...; ROLLBACK TO job   B fails, perhaps because of A's rows; no response yet
 *     COMMIT                                                    A succeeds, B gets its error; or both fail with it
 *
 * The first job needs no savepoint, because a rollback of the transaction undoes nothing else. Only the running job may
 * call the methods, or the writer between two jobs.
 */
export class GroupCommit {
  private batch?: Batch;
  /** Time until which only jobs that reclaim space may join, on the clock of `performance.now()`. */
  private fullUntil = 0;
  private readonly readSchemaVersion;
  private checkedVersion?: number;
  private isShareable = false;

  constructor(
    private readonly connection: SqliteConnection,
    private readonly reserve: DiskReserve,
    private readonly file: DatabaseFile,
  ) {
    this.readSchemaVersion = connection.database.prepare('PRAGMA schema_version').pluck();
  }

  get isOpen(): boolean {
    return this.batch !== undefined;
  }

  /** Whether the running job is the first of its batch. */
  get isFirst(): boolean {
    return this.batch?.size === 1;
  }

  /** Whether the open batch takes no further job. */
  get isOver(): boolean {
    const { began, size, reclaimingOnly } = this.batch!;
    if (reclaimingOnly || size >= LARGEST_BATCH || performance.now() - began >= LONGEST_BATCH) return true;
    return !this.mayShare();
  }

  /**
   * Adds a job to the open batch, or opens one.
   * @throws {DiskFullError} while the volume is full and the job does not reclaim space
   * @throws SqliteError
   */
  join(reclaimsSpace: boolean): void {
    this.batch ??= this.open();
    if (this.batch.reclaimingOnly && !reclaimsSpace) throw new DiskFullError(new Error('Only deletes are written'));
    this.batch.size++;
  }

  /** Resolves when the running job is on disk, with the number of transactions that share the commit. */
  committed(reclaimsSpace: boolean): Promise<number> {
    return new Promise((done, fail) => this.batch!.pending.push({ reclaimsSpace, done, fail }));
  }

  /** Resolves when all data that the running job, which was rejected, has read is on disk. */
  async readsCommitted(): Promise<void> {
    if (this.batch !== undefined && this.batch.pending.length > 0) await this.committed(false);
  }

  commit(): void {
    const { batch } = this;
    if (batch === undefined) return;
    try {
      this.file.checkWal();
      this.reserve.commit();
      this.file.check();
      if (this.file.sizeOfWal() > LARGEST_WAL) this.reserve.shrinkWal();
    } catch (error) {
      const isUnknown = !this.connection.database.inTransaction && !isFull(error);
      const reclaimsSpace = batch.pending.some((job) => job.reclaimsSpace);
      this.failAll(isUnknown ? new OutcomeUnknownError(UNKNOWN, error) : error);
      if (isFull(error)) this.afterFull(reclaimsSpace);
      return;
    }
    this.batch = undefined;
    for (const job of batch.pending) job.done(batch.pending.length);
  }

  /** Rolls back. If that fails, it is repeated before the next transaction begins; nothing commits it. */
  failAll(error: unknown): void {
    try {
      if (this.connection.database.inTransaction) this.connection.run('ROLLBACK');
    } catch (failure) {
      new Logger('Database').error(`A transaction could not be rolled back: ${(failure as Error).message}`);
    }
    this.fail(error);
  }

  /** Fails the whole batch if the error of one job has undone it. */
  afterFailure(error: unknown, reclaimsSpace: boolean): void {
    if (!this.connection.database.inTransaction) this.fail(error);
    if (!isFull(error)) return;
    this.commit();
    this.afterFull(reclaimsSpace);
  }

  /**
   * Tells whether transactions may share a commit: not if the schema has `ROLLBACK`, which ignores savepoints, `FAIL`,
   * which keeps rows, or `INITIALLY DEFERRED` foreign keys, which are checked at the commit.
   */
  private mayShare(): boolean {
    const version = this.readSchemaVersion.get() as number;
    if (version !== this.checkedVersion) {
      this.checkedVersion = version;
      const { rows } = this.connection.run('SELECT sql FROM sqlite_schema');
      this.isShareable = !rows!.some(({ sql }) => REACHING_BEYOND.test(String(sql)));
    }
    return this.isShareable;
  }

  private open(): Batch {
    const isWalShort = this.file.sizeOfWal() < this.reserve.size;
    if (isWalShort) {
      this.file.check();
      this.file.checkWal();
    }
    this.reserve.begin();
    const hasReserve = !isWalShort || this.reserve.make();
    const reclaimingOnly = !hasReserve || performance.now() < this.fullUntil;
    return { began: performance.now(), reclaimingOnly, pending: [], size: 0 };
  }

  private fail(error: unknown): void {
    const pending = this.batch?.pending ?? [];
    this.batch = undefined;
    for (const job of pending) job.fail(translated(error));
  }

  /** Makes the whole WAL usable for jobs that reclaim space, if necessary by ending lists. */
  private afterFull(reclaimsSpace: boolean): void {
    this.fullUntil = performance.now() + FULL_PAUSE;
    if (!this.reserve.restartWal() && reclaimsSpace) this.reserve.shrinkWal();
  }
}
