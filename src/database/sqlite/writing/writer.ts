import { TypeORMError } from 'typeorm';
import { DatabaseUnavailableError, DiskFullError } from '../../errors.js';
import { type Waiter, WaitQueue } from '../../wait-queue.js';
import { retryDelay } from '../busy-retries.js';
import type { SqliteConnection, StatementResult } from '../sqlite-connection.js';
import type { DatabaseFile } from '../file/database-file.js';
import type { DiskReserve } from './disk-reserve.js';
import { GroupCommit } from './group-commit.js';
import type { OpenTransaction } from '../open-transaction.js';
import { isBusy, translated } from '../sqlite-errors.js';
import { WriteTransaction } from './write-transaction.js';

export interface WriterLimits {
  /** Milliseconds to wait for a slot, and for the lock of another process, before giving up. */
  readonly busyTimeout: number;
  /** Milliseconds a transaction may last. */
  readonly transactionTimeout: number;
}

export interface WriteOptions {
  /** Whether the write reclaims more space than it takes, as a delete does: then it may use the last of it. */
  readonly reclaimsSpace: boolean;
  /** Whether it can't be part of a transaction, and so runs in SQLite's autocommit mode: `VACUUM`, `ATTACH`, most `PRAGMA`s. */
  readonly autocommit?: boolean;
}

/** Something that waits for its slot on the writing connection. */
interface Job extends WriteOptions, Waiter {
  /** It has the slot. It ends the slot before it returns, or later by `endSlot`. */
  run(): void;
}

const OWN_TRANSACTION = 'Inside a transaction, write through its own manager: another one waits for it to end.';

/**
 * The one connection that writes. SQLite has one writer at a time, so each job waits here for a slot, first come first
 * served; jobs that wait together share a commit (`GroupCommit`).
 *
 * The commit comes when no job waits any more. Where the event loop has turned without a commit, that is immediately: a
 * single job waits for no other. Else it is after the event loop has looked for further requests (`setImmediate`), since what
 * arrives together is handled one after the other.
 */
export class Writer {
  private readonly queue: WaitQueue<Job>;
  private readonly group: GroupCommit;
  /** Whether a job has the slot, or the writer waits for another process. */
  private taken = false;
  /** Whether `next` is at work: a job that ends before it returns leaves it to go on. */
  private running = false;
  private busyRetries = 0;
  private committing?: NodeJS.Immediate;
  private closing = false;
  private onIdle?: () => void;

  constructor(
    private readonly connection: SqliteConnection,
    reserve: DiskReserve,
    private readonly file: DatabaseFile,
    private readonly limits: WriterLimits,
    onLargeWal: () => void,
  ) {
    const { busyTimeout } = limits;
    this.queue = new WaitQueue(
      busyTimeout,
      () => new DatabaseUnavailableError(`No slot to write within ${busyTimeout} ms. ${OWN_TRANSACTION}`),
    );
    this.group = new GroupCommit(connection, reserve, file, onLargeWal);
  }

  /**
   * Runs one statement as a transaction of its own. Resolves when it is on disk.
   * @throws {DatabaseUnavailableError} after the busy time-out
   * @throws {DiskFullError} when there is no space left
   * @throws SqliteError
   */
  async run(sql: string, parameters: readonly unknown[], options: WriteOptions): Promise<StatementResult> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.statement(sql, parameters, options);
      } catch (error) {
        // By now the writer has restarted the WAL, if it could.
        if (!(error instanceof DiskFullError) || attempts === 3) throw error;
      }
    }
  }

  /**
   * Begins a transaction, when it has its slot.
   * @throws {DatabaseUnavailableError} after the busy time-out
   * @throws {DiskFullError} when there is no space left and the transaction does not reclaim any
   */
  begin(reclaimsSpace: boolean): Promise<OpenTransaction> {
    return new Promise((resolve, reject) => {
      const run = (): void => {
        const { group, connection, endSlot } = this;
        resolve(new WriteTransaction(group, connection, reclaimsSpace, this.limits.transactionTimeout, endSlot));
      };
      this.enqueue({ reclaimsSpace, run, reject });
    });
  }

  /** Takes no further job, and resolves when those that have or await a slot have ended. */
  async close(): Promise<void> {
    this.closing = true;
    if (this.isIdle()) return;
    await new Promise<void>((resolve) => (this.onIdle = resolve));
  }

  private statement(
    sql: string,
    parameters: readonly unknown[],
    { reclaimsSpace, autocommit = false }: WriteOptions,
  ): Promise<StatementResult> {
    return new Promise((resolve, reject) => {
      const run = (): void => {
        try {
          const result = this.connection.run(sql, parameters);
          if (autocommit) {
            this.endAutocommit();
            resolve(result);
          } else {
            this.group.add({ reclaimsSpace, done: () => resolve(result), fail: reject });
          }
        } catch (error) {
          if (autocommit && isBusy(error)) throw error;
          this.group.settleRejected(() => reject(translated(error)), reject);
          this.group.afterFailure(error, reclaimsSpace);
        }
        this.endSlot();
      };
      this.enqueue({ reclaimsSpace, autocommit, run, reject });
    });
  }

  private endAutocommit(): void {
    this.file.check();
    if (!this.connection.inTransaction) return;
    this.connection.run('ROLLBACK');
    throw new TypeORMError('A transaction is begun with startTransaction()');
  }

  private enqueue(job: Job): void {
    if (this.closing) return job.reject(new DatabaseUnavailableError('The database is closing'));
    this.queue.push(job);
    if (!this.taken) this.next();
  }

  private readonly endSlot = (): void => {
    this.taken = false;
    if (!this.running) this.next();
  };

  /** Gives the slot to the job that has waited longest; prepares the commit when there is none. */
  private next(): void {
    while (!this.taken) {
      const job = this.queue.first;
      if (job === undefined) return this.commitSoon();
      if (this.group.isOpen && (job.autocommit || this.group.isOver)) {
        this.group.commit();
        continue;
      }
      try {
        this.start(job);
      } catch (error) {
        this.taken = false;
        if (isBusy(error)) return this.retryLater();
        this.queue.shift();
        job.reject(translated(error));
      }
    }
  }

  /** Runs a job, which leaves the queue unless this throws. */
  private start(job: Job): void {
    this.file.assertNotMoved();
    if (!job.autocommit) this.group.join(job.reclaimsSpace);
    this.taken = true;
    this.running = true;
    try {
      job.run();
    } finally {
      this.running = false;
    }
    this.queue.shift();
    this.busyRetries = 0;
  }

  private retryLater(): void {
    this.taken = true;
    setTimeout(() => {
      this.taken = false;
      this.next();
    }, retryDelay(this.busyRetries++));
  }

  private commitSoon(): void {
    if (!this.group.hasJustCommitted) this.group.commit();
    if (!this.group.isOpen) {
      if (this.isIdle()) this.onIdle?.();
      return;
    }
    this.committing ??= setImmediate(() => {
      this.committing = undefined;
      if (this.taken) return;
      this.group.commit();
      this.next();
    });
  }

  private isIdle(): boolean {
    return !this.taken && this.queue.size === 0 && !this.group.isOpen;
  }
}
