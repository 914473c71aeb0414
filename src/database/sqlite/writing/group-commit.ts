import { Logger } from '@nestjs/common';
import { DiskFullError, OutcomeUnknownError } from '../../errors.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import type { DatabaseFile } from '../file/database-file.js';
import type { DiskReserve } from './disk-reserve.js';
import { GroupCommitCheck } from './group-commit-check.js';
import { isFull, translated } from '../sqlite-errors.js';

/** Waits for the commit: a job that has succeeded, or one that was rejected on rows which are not on disk yet. */
export interface PendingJob {
  readonly reclaimsSpace: boolean;
  done(): void;
  fail(error: Error): void;
}

/** The transaction that is open, and the jobs in it that have ended. */
interface Batch {
  readonly began: number;
  /** Whether there is no space, so that only jobs that reclaim some may join, each with a commit of its own. */
  readonly reclaimingOnly: boolean;
  readonly pending: PendingJob[];
  size: number;
}

// A batch ends when no job waits. Under steady load these limits end it: its first job should not wait for ever, and a
// failed commit should not fail thousands of jobs.
const LARGEST_BATCH = 500;
const LONGEST_BATCH = 20;

/** Bytes the WAL may grow to before the readers that keep SQLite from restarting it are ended. */
const LARGEST_WAL = 128 * 1024 * 1024;

/** Milliseconds after which a full volume is tried again. */
const FULL_PAUSE = 100;

/**
 * An I/O error on COMMIT: this process reads the state of before, but the commit's frames may be in the WAL, and then the next
 * process to recover it finds them (https://sqlite.org/walformat.html, section 4). Or the commit is done, in a file that was moved.
 */
const UNKNOWN = 'The COMMIT failed, and may be found in the file all the same';

/**
 * One transaction of SQLite for many jobs. The cost is not in the write but in the disk flush of its commit, so jobs that wait
 * together share one:
 *
 *     BEGIN IMMEDIATE
 *       ...A's statements...                                       A asks to commit, and gets no response yet
 *       SAVEPOINT job;  ...B's statements...; ROLLBACK TO job      B fails, perhaps because of A's rows; no response yet
 *       ...C's only statement...                                   needs no savepoint: SQLite undoes it as a whole
 *     COMMIT                                                       all are settled: A and C with success, B with its error;
 *                                                                  or all with the failure of the commit
 *
 * The first needs no savepoint either: what its rollback undoes is all there is. When it fails, it is settled immediately, as
 * is any that no pending rows stand before: what it read was on disk.
 *
 * All but the getters is to be called by the job that runs, or between two.
 */
export class GroupCommit {
  private batch?: Batch;
  /** Until when only what reclaims space may join, on the clock of `performance.now()`. */
  private fullUntil = 0;
  /** Pending while the event loop has not turned since the last commit. */
  private turning?: NodeJS.Immediate;
  private readonly check: GroupCommitCheck;

  constructor(
    private readonly connection: SqliteConnection,
    private readonly reserve: DiskReserve,
    private readonly file: DatabaseFile,
    private readonly onLargeWal: () => void,
  ) {
    this.check = new GroupCommitCheck(connection);
  }

  get isOpen(): boolean {
    return this.batch !== undefined;
  }

  /** Whether no job has joined before the one that runs. */
  get isFirst(): boolean {
    return this.batch?.size === 1;
  }

  /** Whether there was a commit since the event loop looked for further requests. */
  get hasJustCommitted(): boolean {
    return this.turning !== undefined;
  }

  /** Whether the batch that is open, if there is one, takes no further job. */
  get isOver(): boolean {
    if (this.batch === undefined) return false;
    const { began, size, reclaimingOnly } = this.batch;
    if (reclaimingOnly || size >= LARGEST_BATCH || performance.now() - began >= LONGEST_BATCH) return true;
    return !this.check.isSafe();
  }

  /**
   * Lets a job join the batch that is open, or opens one.
   * @throws {DiskFullError} while there is no space but for what reclaims some
   * @throws SqliteError
   */
  join(reclaimsSpace: boolean): void {
    this.batch ??= this.open();
    if (this.batch.reclaimingOnly && !reclaimsSpace) throw new DiskFullError(new Error('Only deletes are written'));
    this.batch.size++;
  }

  /** Notes that the job that runs has ended well. */
  add(job: PendingJob): void {
    this.batch!.pending.push(job);
  }

  /**
   * Settles the rejection of the job that runs, which has left nothing: immediately when all it could read is on disk, else by
   * the commit.
   */
  settleRejected(done: () => void, fail: (error: Error) => void): void {
    if (this.batch === undefined || this.batch.pending.length === 0) return done();
    this.batch.pending.push({ reclaimsSpace: false, done, fail });
  }

  /** Commits the batch and settles its jobs. */
  commit(): void {
    const { batch } = this;
    if (batch === undefined) return;
    this.turning ??= setImmediate(() => (this.turning = undefined));
    try {
      this.reserve.commit();
      this.file.check();
      if (this.file.sizeOfWal() > LARGEST_WAL) this.onLargeWal();
    } catch (error) {
      const isUnknown = !this.connection.inTransaction && !isFull(error);
      const reclaimsSpace = batch.pending.some((job) => job.reclaimsSpace);
      this.failAll(isUnknown ? new OutcomeUnknownError(UNKNOWN, error) : error);
      if (isFull(error)) this.afterFull(reclaimsSpace);
      return;
    }
    this.batch = undefined;
    for (const job of batch.pending) job.done();
  }

  /** Undoes the first job of the batch, which is all of it so far. */
  abandon(): void {
    this.batch = undefined;
    this.rollBack();
  }

  /** Undoes all jobs of the batch. */
  failAll(error: unknown): void {
    this.rollBack();
    this.fail(error);
  }

  /** What the job met may have undone more than the job: then all of the batch has failed. */
  afterFailure(error: unknown, reclaimsSpace: boolean): void {
    const isLost = this.batch !== undefined && !this.connection.inTransaction;
    if (isLost) this.fail(error);
    if (!isFull(error)) return;
    if (!isLost) this.commit();
    this.afterFull(reclaimsSpace);
  }

  private open(): Batch {
    const isWalShort = this.file.sizeOfWal() < this.reserve.size;
    if (isWalShort) this.file.check();
    // Left by a ROLLBACK that failed.
    if (this.connection.inTransaction) this.connection.run('ROLLBACK');
    // IMMEDIATE: a transaction that reads first and then writes would otherwise fail after another process's commit.
    this.connection.run('BEGIN IMMEDIATE');
    const hasReserve = !isWalShort || this.reserve.make();
    const reclaimingOnly = !hasReserve || performance.now() < this.fullUntil;
    return { began: performance.now(), reclaimingOnly, pending: [], size: 0 };
  }

  private fail(error: unknown): void {
    const pending = this.batch?.pending ?? [];
    this.batch = undefined;
    for (const job of pending) job.fail(translated(error));
  }

  /** Undoes what the connection has begun. What cannot be undone now is before the next transaction begins; nothing commits it. */
  private rollBack(): void {
    if (!this.connection.inTransaction) return;
    try {
      this.connection.run('ROLLBACK');
    } catch (error) {
      new Logger('Database').error(`A transaction could not be rolled back: ${(error as Error).message}`);
    }
  }

  /**
   * Makes all of the WAL usable for what reclaims space, if necessary at the cost of lists. While there is no space, what takes some
   * would fail what reclaims some in the same commit.
   */
  private afterFull(reclaimsSpace: boolean): void {
    this.fullUntil = performance.now() + FULL_PAUSE;
    if (!this.reserve.restartWal() && reclaimsSpace) this.onLargeWal();
  }
}
