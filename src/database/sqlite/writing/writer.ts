import type { Config } from '../../../config/config.js';
import { inSameSpan } from '../../../tracing/spans.js';
import { DatabaseUnavailableError, DiskFullError } from '../../errors.js';
import { type ConnectionUsage, repeatAfter } from '../../engine.js';
import { type Waiter, WaitQueue } from '../../wait-queue.js';
import { retryDelay, type SqliteConnection, type StatementResult } from '../sqlite-connection.js';
import type { DatabaseFile } from '../file/database-file.js';
import type { DiskReserve } from './disk-reserve.js';
import { GroupCommit } from './group-commit.js';
import { isBusy, translated } from '../sqlite-errors.js';
import { WriteTransaction } from './write-transaction.js';

/** The milliseconds to wait for a slot or the lock of another process, and those that a transaction may last. */
export type WriterLimits = Pick<Config['database'], 'busyTimeout' | 'transactionTimeout'>;

/** A job that waits for its slot on the writing connection. */
interface Job extends Waiter {
  /** As in `TransactionOptions`. */
  readonly reclaimsSpace: boolean;
  /** Whether the job is a statement outside any transaction. */
  readonly autocommit?: boolean;
  /** Begins a transaction, which keeps the slot until `endSlot`, or runs an autocommit statement. */
  run(): void;
}

/**
 * The connection that writes. SQLite has one writer at a time, so jobs wait here for a slot, in order. Jobs share a
 * commit (`GroupCommit`) until a turn of the event loop brings no further job (docs/adr/0025-group-commit.md).
 */
export class Writer {
  private readonly queue: WaitQueue<Job>;
  private readonly group: GroupCommit;
  /** Whether a job has the slot, or the writer waits for another process. */
  private taken = false;
  private busyRetries = 0;
  /** The end of this turn of the event loop; set while a group waits for its commit. */
  private turn?: NodeJS.Immediate;
  /** Whether a job has come since the last turn. */
  private hasNewJob = false;
  private closing = false;
  private onIdle?: () => void;

  constructor(
    private readonly connection: SqliteConnection,
    reserve: DiskReserve,
    private readonly file: DatabaseFile,
    private readonly limits: WriterLimits,
  ) {
    const { busyTimeout } = limits;
    const locked = `Another process has locked the database for ${busyTimeout} ms (DATABASE_BUSY_TIMEOUT)`;
    const advice = 'Inside a transaction, write through its own manager: another one waits for it to end.';
    const message = (): string =>
      this.busyRetries > 0 ? locked : `No slot to write within ${busyTimeout} ms. ${advice}`;
    this.queue = new WaitQueue(busyTimeout, () => new DatabaseUnavailableError(message()));
    this.group = new GroupCommit(connection, reserve, file);
  }

  /** Runs one statement as a transaction. It rejects as `transaction` does, or with a SqliteError. */
  run(sql: string, parameters: readonly unknown[], reclaimsSpace: boolean): Promise<StatementResult> {
    const work = (transaction: WriteTransaction): StatementResult => transaction.run(sql, parameters);
    // After `DiskFullError` the writer has restarted the WAL, if it could.
    return repeatAfter(DiskFullError, () => this.transaction(work, reclaimsSpace));
  }

  /**
   * Runs `work` in a transaction. Resolves when it is on disk.
   * @throws the errors of `begin` and `work`, or that of the commit
   */
  async transaction<T>(work: (transaction: WriteTransaction) => T | Promise<T>, reclaimsSpace: boolean): Promise<T> {
    const transaction = await this.begin(reclaimsSpace);
    try {
      const result = await work(transaction);
      await transaction.commit();
      return result;
    } catch (error) {
      await transaction.rollback();
      throw translated(error);
    }
  }

  /**
   * @throws {DatabaseUnavailableError} after the busy time-out
   * @throws {DiskFullError} when there is no space left and the transaction does not reclaim any
   */
  begin(reclaimsSpace: boolean): Promise<WriteTransaction> {
    return new Promise((resolve, reject) => {
      const { group, connection, endSlot } = this;
      const timeout = this.limits.transactionTimeout;
      const run = (): void => resolve(new WriteTransaction(group, connection, reclaimsSpace, timeout, endSlot));
      this.enqueue({ reclaimsSpace, run: inSameSpan(run), reject });
    });
  }

  get usage(): ConnectionUsage {
    return { pool: 'writer', used: this.isIdle() ? 0 : 1, limit: 1, waiting: this.queue.size };
  }

  /** Accepts no further job. Resolves when all accepted jobs have ended. */
  async close(): Promise<void> {
    this.closing = true;
    if (this.isIdle()) return;
    await new Promise<void>((resolve) => (this.onIdle = resolve));
  }

  /**
   * Runs a statement outside any transaction, as `VACUUM`, `ATTACH` and most `PRAGMA`s need it.
   * @throws {DatabaseUnavailableError} after the busy time-out
   */
  autocommit(sql: string, parameters?: readonly unknown[]): Promise<StatementResult> {
    return new Promise((resolve, reject) => {
      const run = (): void => {
        const result = this.connection.run(sql, parameters);
        this.file.check();
        resolve(result);
      };
      this.enqueue({ reclaimsSpace: false, autocommit: true, run: inSameSpan(run), reject });
    });
  }

  private enqueue(job: Job): void {
    if (this.closing) return job.reject(new DatabaseUnavailableError('The database is closing'));
    this.queue.push(job);
    this.hasNewJob = true;
    if (!this.taken) this.next();
  }

  private readonly endSlot = (): void => {
    this.taken = false;
    this.next();
  };

  /** Gives the slot to the job that has waited longest. If there is none, prepares the commit. */
  private next(): void {
    while (!this.taken) {
      const job = this.queue.first;
      if (job === undefined) return this.commitSoon();
      // The job stays in the queue until it has run, to be repeated when the file is locked.
      try {
        if (this.group.isOpen && (job.autocommit || this.group.isOver)) {
          this.group.commit();
          continue;
        }
        this.file.assertNotMoved();
        // A failed ROLLBACK may have left a transaction.
        if (!this.group.isOpen && this.connection.database.inTransaction) this.connection.run('ROLLBACK');
        if (!job.autocommit) {
          this.group.join(job.reclaimsSpace);
          this.taken = true;
        }
        job.run();
        this.queue.shift();
        this.busyRetries = 0;
      } catch (error) {
        this.taken = false;
        if (isBusy(error)) return this.retryLater();
        this.queue.shift();
        job.reject(translated(error));
      }
    }
  }

  private retryLater(): void {
    this.taken = true;
    setTimeout(() => {
      this.taken = false;
      this.next();
    }, retryDelay(this.busyRetries++));
  }

  /** Commits after a turn without a new job: Node accepts one connection each turn, and reads it in the next. */
  private commitSoon(): void {
    if (!this.group.isOpen) return this.onIdle?.();
    this.turn ??= setImmediate(() => {
      this.turn = undefined;
      if (this.taken) return;
      if (!this.hasNewJob) this.group.commit();
      this.hasNewJob = false;
      this.next();
    });
  }

  private isIdle(): boolean {
    return !this.taken && this.queue.size === 0 && !this.group.isOpen;
  }
}
