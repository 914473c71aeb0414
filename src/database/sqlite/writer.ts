import { TypeORMError } from 'typeorm';
import { Logger } from '../../logging/nest-logger.js';
import { DatabaseUnavailableError, DiskFullError, OutcomeUnknownError, transactionTooLong } from '../errors.js';
import type { Connection, StatementResult } from './connection.js';
import type { DatabaseFile } from './database-file.js';
import type { DiskReserve } from './disk-reserve.js';
import { MOST_WAITING, overloaded } from '../wait-queue.js';
import { SharedCommits } from './shared-commits.js';
import { isBusy, isFull, translateSqliteError } from './sqlite-errors.js';
import type { OpenTransaction } from './open-transaction.js';

export interface WriterLimits {
  /** Milliseconds to wait for a turn, and for the lock of another process, before giving up. */
  readonly busyTimeout: number;
  /** Milliseconds a transaction may last. */
  readonly transactionTimeout: number;
}

export interface WriteOptions {
  /** Whether the write gives more room back than it takes, as a delete does: then it may use the last of it. */
  readonly freesRoom: boolean;
  /** Whether it can't be part of a transaction: `VACUUM`, `ATTACH`, most `PRAGMA`s. */
  readonly alone?: boolean;
}

/** Something that waits for its turn on the writing connection. */
interface Unit extends WriteOptions {
  /** When it gives up waiting, on the clock of `performance.now()`. */
  readonly deadline: number;
  /** It is its turn. It ends the turn before it returns, or later by `endTurn`. */
  admit(): void;
  refuse(error: Error): void;
}

/** Waits for the group commit: a unit that has ended well, or one that was rejected on rows which are not yet on disk. */
interface Pending {
  readonly freesRoom: boolean;
  done(): void;
  fail(error: Error): void;
}

/** Units that have ended and wait for the commit they share. */
interface Batch {
  readonly began: number;
  /** Whether the disk reserve is given up, so that only units that free room may join. */
  readonly freeingOnly: boolean;
  readonly kept: Pending[];
  size: number;
}

// A batch ends when nobody waits. Under steady load these bounds end it: its first unit should not wait for ever, and a
// failed commit should not fail thousands.
const LARGEST_BATCH = 500;
const LONGEST_BATCH = 20;

/** Bytes the WAL may grow to before those who keep it from being begun anew are ended. */
const LARGEST_WAL = 128 * 1024 * 1024;

/** Milliseconds after which a full volume is tried again. */
const FULL_PAUSE = 100;

// SQLite's own busy handler levels off at 100 ms (sqliteDefaultBusyCallback); writes here are short.
const RETRY_DELAYS = [1, 2, 5, 10, 15, 20, 25];

/**
 * An I/O error on COMMIT: this process reads the state of before, but the commit's frames may be in the WAL, and then the next
 * process to recover it finds them (https://sqlite.org/walformat.html, section 4). Or the commit is done, in a file that was moved.
 */
const UNKNOWN = 'The COMMIT failed, and may be found in the file all the same';

const OWN_TRANSACTION = 'Inside a transaction, write through its own manager: another one waits for it to end.';

/**
 * The one connection that writes. SQLite has one writer at a time, so whoever writes waits here for a turn, first come
 * first served. What costs is not the write but the disk flush of its commit; so those who wait together share one:
 *
 *     BEGIN IMMEDIATE
 *       ...A's statements...                                       A asks to commit, and gets no response yet
 *       SAVEPOINT unit; ...B's statements...; ROLLBACK TO unit     B fails, perhaps because of A's rows; no response yet
 *       ...C's only statement...                                   needs no savepoint: SQLite undoes it as a whole
 *     COMMIT                                                       all are told: A and C of success, B of its error;
 *                                                                  or all of the failure of the commit
 *
 * The first needs no savepoint either: what its rollback undoes is all there is. When it fails, it is told immediately, as
 * is any that nobody's pending rows stand before: what it read was on disk.
 *
 * The commit comes when nobody waits any more. Where the event loop has turned without a commit, that is at once: who comes
 * alone waits for nobody. Else it is after the event loop has looked for further requests (`setImmediate`), since what
 * arrives together is handled one after the other.
 */
export class Writer {
  private readonly queue: Unit[] = [];
  private batch?: Batch;
  /** Whether someone has the turn, or the writer waits for the lock of another process. */
  private taken = false;
  /** Whether `next` is at work: a unit that ends at once leaves it to go on. */
  private admitting = false;
  private busyRetries = 0;
  /** Until when only what frees room is admitted, on the clock of `performance.now()`. */
  private fullUntil = 0;
  private flushing?: NodeJS.Immediate;
  /** Pending while the event loop has not turned since the last commit. */
  private turning?: NodeJS.Immediate;
  private expiry?: NodeJS.Timeout;
  private closing = false;
  private onIdle?: () => void;
  private readonly sharedCommits: SharedCommits;

  constructor(
    private readonly connection: Connection,
    private readonly reserve: DiskReserve,
    private readonly file: DatabaseFile,
    private readonly limits: WriterLimits,
    private readonly onLargeWal: () => void,
  ) {
    this.sharedCommits = new SharedCommits(connection);
  }

  /**
   * Runs one statement as a transaction of its own. Resolves when it is on disk.
   * @throws {DatabaseUnavailableError} after the busy time-out
   * @throws {DiskFullError} when there is no room left
   * @throws SqliteError
   */
  async run(sql: string, parameters: readonly unknown[], options: WriteOptions): Promise<StatementResult> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.statement(sql, parameters, options);
      } catch (error) {
        // By now the writer has made room, if it could: first from the WAL, then from the reserve.
        if (!(error instanceof DiskFullError) || attempts === 3) throw error;
      }
    }
  }

  /**
   * Begins a transaction, when its turn has come.
   * @throws {DatabaseUnavailableError} after the busy time-out
   * @throws {DiskFullError} when there is no room left and the transaction does not free any
   */
  begin(freesRoom: boolean): Promise<OpenTransaction> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        const isFirst = this.batch!.size === 1;
        if (!isFirst) this.connection.run('SAVEPOINT unit');
        resolve(new WriteTransaction(this, this.connection, freesRoom, isFirst, this.limits.transactionTimeout));
      };
      this.enqueue({ freesRoom, deadline: this.deadline(), admit, refuse: reject });
    });
  }

  /** Admits nobody new, and resolves when those who have or await a turn are through. */
  async close(): Promise<void> {
    this.closing = true;
    if (this.isIdle()) return;
    await new Promise<void>((resolve) => (this.onIdle = resolve));
  }

  /** The turn is over. `kept` is told when the shared commit has come; without it, the unit has left nothing. */
  endTurn(kept?: Pending): void {
    this.taken = false;
    if (kept !== undefined) this.batch!.kept.push(kept);
    if (!this.admitting) this.next();
  }

  /**
   * Settles the rejection of a unit, which has left nothing: immediately when all it could read is on disk, else by the group
   * commit. To be called in its turn.
   */
  settleRejected(done: () => void, fail: (error: Error) => void): void {
    if (this.batch === undefined || this.batch.kept.length === 0) return done();
    this.batch.kept.push({ freesRoom: false, done, fail });
  }

  /** Undoes the first unit of a batch, which is all of it so far. To be called in its turn. */
  abandonBatch(): void {
    this.batch = undefined;
    this.rollBack();
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

  /** What a unit met may have undone more than the unit: then all of the batch has failed. To be called in its turn. */
  afterFailure(error: unknown, freesRoom: boolean): void {
    const lost = this.batch !== undefined && !this.connection.inTransaction;
    if (lost) this.fail(error);
    if (!isFull(error)) return;
    if (!lost) this.flush();
    this.regainRoom(freesRoom);
  }

  private statement(sql: string, parameters: readonly unknown[], options: WriteOptions): Promise<StatementResult> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        try {
          const result = this.connection.run(sql, parameters);
          if (options.alone) this.endAlone();
          this.endTurn(options.alone ? undefined : { ...options, done: () => resolve(result), fail: reject });
          if (options.alone) resolve(result);
        } catch (error) {
          if (options.alone && isBusy(error)) throw error;
          this.settleRejected(() => reject(translateSqliteError(error) ?? (error as Error)), reject);
          this.afterFailure(error, options.freesRoom);
          this.endTurn();
        }
      };
      this.enqueue({ ...options, deadline: this.deadline(), admit, refuse: reject });
    });
  }

  private endAlone(): void {
    this.file.check();
    if (!this.connection.inTransaction) return;
    this.connection.run('ROLLBACK');
    throw new TypeORMError('A transaction is begun with startTransaction()');
  }

  private enqueue(unit: Unit): void {
    if (this.closing) return unit.refuse(new DatabaseUnavailableError('The database is closing'));
    if (this.queue.length >= MOST_WAITING) return unit.refuse(overloaded());
    this.queue.push(unit);
    if (this.queue.length === 1) this.expire();
    if (!this.taken) this.next();
  }

  /** Gives the turn to whoever waits longest; prepares the commit when nobody does. */
  private next(): void {
    while (!this.taken) {
      const unit = this.queue[0];
      if (unit === undefined) return this.flushSoon();
      if (this.batch !== undefined && (unit.alone || !this.mayJoin(this.batch))) {
        this.flush();
        continue;
      }
      try {
        this.file.assertKept();
        if (this.batch === undefined && !unit.alone) this.open();
        if (this.batch?.freeingOnly && !unit.freesRoom) throw new DiskFullError(new Error('The reserve is in use'));
        this.taken = true;
        this.queue.shift();
        if (this.batch !== undefined) this.batch.size++;
        this.admitting = true;
        unit.admit();
        this.busyRetries = 0;
      } catch (error) {
        this.taken = false;
        if (isBusy(error)) return this.retryLater(unit);
        if (this.queue[0] === unit) this.queue.shift();
        unit.refuse(translateSqliteError(error) ?? (error as Error));
      } finally {
        this.admitting = false;
      }
    }
  }

  private open(): void {
    const freeingOnly = performance.now() < this.fullUntil || !this.reserve.isHeld(this.connection);
    // Left by a ROLLBACK that failed.
    if (this.connection.inTransaction) this.connection.run('ROLLBACK');
    // IMMEDIATE: a transaction that reads first and then writes would otherwise fail after another process's commit.
    this.connection.run('BEGIN IMMEDIATE');
    this.batch = { began: performance.now(), freeingOnly, kept: [], size: 0 };
  }

  private mayJoin({ began, size }: Batch): boolean {
    if (size >= LARGEST_BATCH || performance.now() - began >= LONGEST_BATCH) return false;
    return this.sharedCommits.areSafe();
  }

  private retryLater(unit: Unit): void {
    if (this.queue[0] !== unit) this.queue.unshift(unit);
    this.taken = true;
    setTimeout(
      () => {
        this.taken = false;
        this.next();
      },
      RETRY_DELAYS[Math.min(this.busyRetries++, RETRY_DELAYS.length - 1)],
    );
  }

  private flushSoon(): void {
    if (this.batch !== undefined && this.turning === undefined) this.flush();
    if (this.batch === undefined) return this.isIdle() ? this.onIdle?.() : undefined;
    this.flushing ??= setImmediate(() => {
      this.flushing = undefined;
      if (this.taken) return;
      this.flush();
      this.next();
    });
  }

  /** Commits the batch and settles its units. */
  private flush(): void {
    const { batch } = this;
    if (batch === undefined) return;
    this.turning ??= setImmediate(() => (this.turning = undefined));
    try {
      this.connection.run('COMMIT');
      this.file.check();
      if (this.file.sizeOfWal() > LARGEST_WAL) this.onLargeWal();
    } catch (error) {
      const isUnknown = !this.connection.inTransaction && !isFull(error);
      this.rollBack();
      const freesRoom = batch.kept.some((unit) => unit.freesRoom);
      this.fail(isUnknown ? new OutcomeUnknownError(UNKNOWN, error) : error);
      if (isFull(error)) this.regainRoom(freesRoom);
      return;
    }
    this.batch = undefined;
    for (const unit of batch.kept) unit.done();
  }

  /** While there is no room, what takes some would fail what frees some and shares its commit. */
  private regainRoom(freesRoom: boolean): void {
    if (!this.reserve.regainRoom(this.connection, freesRoom)) this.fullUntil = performance.now() + FULL_PAUSE;
  }

  /** Undoes all units of the batch. To be called in the turn of one of them. */
  failBatch(error: unknown): void {
    this.rollBack();
    this.fail(error);
  }

  private fail(error: unknown): void {
    const kept = this.batch?.kept ?? [];
    this.batch = undefined;
    for (const unit of kept) unit.fail(translateSqliteError(error) ?? (error as Error));
  }

  private deadline(): number {
    return performance.now() + this.limits.busyTimeout;
  }

  /** One timer for all who wait: the first has waited longest. */
  private expire(): void {
    if (this.expiry !== undefined) return;
    const { busyTimeout } = this.limits;
    this.expiry = setTimeout(() => {
      this.expiry = undefined;
      const now = performance.now();
      while (this.queue[0] !== undefined && this.queue[0].deadline <= now) {
        const reason = `No turn to write within ${busyTimeout} ms. ${OWN_TRANSACTION}`;
        this.queue.shift()!.refuse(new DatabaseUnavailableError(reason));
      }
      if (this.queue.length > 0) this.expire();
    }, this.waitOfFirst());
    this.expiry.unref();
  }

  private waitOfFirst(): number {
    return Math.max(1, (this.queue[0]?.deadline ?? 0) - performance.now());
  }

  private isIdle(): boolean {
    return !this.taken && this.queue.length === 0 && this.batch === undefined;
  }
}

/** A transaction that writes, on its savepoint of the batch. */
class WriteTransaction implements OpenTransaction {
  private over?: Error;
  /** Set when it has been undone; see `rollback`. */
  private settled?: Promise<void>;
  private deferredForeignKeys = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly writer: Writer,
    private readonly connection: Connection,
    private readonly freesRoom: boolean,
    private readonly isFirst: boolean,
    timeout: number,
  ) {
    this.timer = setTimeout(() => {
      this.undo(transactionTooLong(timeout));
    }, timeout);
  }

  get database(): unknown {
    return this.connection.database;
  }

  run(sql: string, parameters: readonly unknown[] = []): StatementResult {
    if (this.over !== undefined) throw this.over;
    if (OR_ROLLBACK.test(sql)) throw new TypeORMError('OR ROLLBACK cannot be used in a transaction; use OR ABORT');
    if (DEFERRING.test(sql)) this.deferredForeignKeys = true;
    try {
      return this.connection.run(sql, parameters);
    } catch (error) {
      // Half a transaction serves nobody: without room all of it is undone.
      if (isFull(error) || !this.connection.inTransaction)
        this.undo(translateSqliteError(error) ?? (error as Error), error);
      throw error;
    }
  }

  commit(): Promise<void> {
    if (this.over !== undefined) throw this.over;
    if (this.deferredForeignKeys) this.checkForeignKeys();
    if (!this.isFirst) this.connection.run('RELEASE unit');
    this.over = ENDED;
    clearTimeout(this.timer);
    return new Promise((done, fail) => this.writer.endTurn({ freesRoom: this.freesRoom, done, fail }));
  }

  rollback(): Promise<void> {
    if (this.over === undefined) this.undo(ENDED);
    return this.settled ?? Promise.resolve();
  }

  private undo(reason: Error, failure?: unknown): void {
    this.over = reason;
    clearTimeout(this.timer);
    if (this.isFirst) this.writer.abandonBatch();
    else this.undoSavepoint();
    this.settled = new Promise((done, fail) => this.writer.settleRejected(done, fail));
    // Whoever undid it by a timer or a failing statement asks later, or never.
    this.settled.catch(() => {});
    if (failure !== undefined) this.writer.afterFailure(failure, this.freesRoom);
    this.writer.endTurn();
  }

  /** Where that fails, the other units of the batch would commit this one, too: all of it is undone. */
  private undoSavepoint(): void {
    if (!this.connection.inTransaction) return;
    try {
      this.connection.run('ROLLBACK TO unit');
      this.connection.run('RELEASE unit');
    } catch (error) {
      this.writer.failBatch(error);
    }
  }

  /** SQLite would check only at the shared commit, and then fail everyone's. */
  private checkForeignKeys(): void {
    this.connection.run('PRAGMA defer_foreign_keys = OFF');
    const violations = this.connection.run('PRAGMA foreign_key_check').rows ?? [];
    if (violations.length > 0) {
      throw Object.assign(new Error('FOREIGN KEY constraint failed'), { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' });
    }
  }
}

const ENDED = new TypeORMError('The transaction has ended');
const OR_ROLLBACK = /\bOR\s+ROLLBACK\b/i;
const DEFERRING = /\bdefer_foreign_keys\b/i;

/**
 * Repeats `attempt` while the database file is locked, giving the event loop back in between.
 * @param timeout in milliseconds
 * @throws {DatabaseUnavailableError} when it is still locked by then
 */
export async function retryWhileBusy<T>(attempt: () => T, timeout: number): Promise<T> {
  const deadline = performance.now() + timeout;
  for (let tries = 0; ; tries++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= deadline) throw translateSqliteError(error) ?? error;
      const delay = RETRY_DELAYS[Math.min(tries, RETRY_DELAYS.length - 1)];
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}
