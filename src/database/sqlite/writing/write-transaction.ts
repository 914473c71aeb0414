import { Logger } from '@nestjs/common';
import { TypeORMError } from 'typeorm';
import { inSpan } from '../../../tracing/spans.js';
import { DatabaseUnavailableError } from '../../errors.js';
import { TRANSACTION_ENDED } from '../../transaction-control.js';
import type { SqliteConnection, StatementResult } from '../sqlite-connection.js';
import type { GroupCommit } from './group-commit.js';
import { isFull, translated } from '../sqlite-errors.js';

/** Conflict clauses that reach beyond a job: `ROLLBACK` undoes writes of others, `FAIL` keeps the earlier rows. */
const REACHING_BEYOND = /\b(?:INSERT|UPDATE)\s+OR\s+(ROLLBACK|FAIL)\b/i;
const DEFERRING = /\bdefer_foreign_keys\b/i;

/** A name that callers do not use: SQLite rolls back to the last savepoint of a name, not to the first. */
const SAVEPOINT = 'group_commit_job';

/** A writing transaction: one job of a group commit, on a savepoint unless it is the first. */
export class WriteTransaction {
  /** The error for further statements, after the end. */
  private over?: Error;
  /** The result of `rollback`. */
  private settled = Promise.resolve();
  private deferredForeignKeys = false;
  /** The first job of a batch needs no savepoint. */
  private readonly isFirst: boolean;
  private readonly timer: NodeJS.Timeout;

  /**
   * @param timeout in milliseconds
   * @param endSlot called once, when other jobs may use the connection
   * @throws SqliteError
   */
  constructor(
    private readonly group: GroupCommit,
    private readonly connection: SqliteConnection,
    private readonly reclaimsSpace: boolean,
    private readonly timeout: number,
    private readonly endSlot: () => void,
  ) {
    this.isFirst = group.isFirst;
    if (!this.isFirst) connection.run(`SAVEPOINT ${SAVEPOINT}`);
    this.timer = setTimeout(() => this.expire(), timeout);
  }

  /** @throws SqliteError, or the error that ended the transaction early */
  run(sql: string, parameters: readonly unknown[] = []): StatementResult {
    if (this.over !== undefined) throw this.over;
    const [, conflict] = REACHING_BEYOND.exec(sql) ?? [];
    if (conflict !== undefined)
      throw new TypeORMError(`OR ${conflict} does not undo exactly its own statement; use OR ABORT`);
    if (DEFERRING.test(sql)) this.deferredForeignKeys = true;
    try {
      return this.connection.run(sql, parameters);
    } catch (error) {
      // When the volume is full, the whole transaction is rolled back.
      if (isFull(error) || !this.connection.database.inTransaction) this.undo(translated(error), error);
      throw error;
    }
  }

  /** Resolves when the transaction is on disk. After a rejection nothing is stored. */
  commit(): Promise<void> {
    if (this.over !== undefined) throw this.over;
    if (this.deferredForeignKeys) this.checkForeignKeys();
    if (!this.isFirst) this.connection.run(`RELEASE ${SAVEPOINT}`);
    this.over = TRANSACTION_ENDED;
    clearTimeout(this.timer);
    return inSpan('commit', async (span) => {
      const committed = this.group.committed(this.reclaimsSpace);
      this.endSlot();
      const transactions = await committed;
      span?.setAttribute('commit.transactions', transactions);
    });
  }

  /**
   * Rolls back immediately; does nothing after the end. Resolves when the data that the transaction read is on disk.
   * @throws the error of the commit of this data; then results of this transaction are invalid
   */
  rollback(): Promise<void> {
    if (this.over === undefined) this.undo(TRANSACTION_ENDED);
    return this.settled;
  }

  /** Rolls back, and logs the time-out, because a caller that has forgotten its transaction never gets the error. */
  private expire(): void {
    const message = `The transaction took longer than ${this.timeout} ms and was rolled back`;
    new Logger('Database').warn(message);
    this.undo(new DatabaseUnavailableError(message));
  }

  private undo(reason: Error, failure?: unknown): void {
    this.over = reason;
    clearTimeout(this.timer);
    if (this.isFirst) this.group.failAll(reason);
    else this.undoSavepoint();
    this.settled = this.group.readsCommitted();
    // After a rollback by a timer or a failed statement, the caller may never ask for the result.
    this.settled.catch(() => {});
    if (failure !== undefined) this.group.afterFailure(failure, this.reclaimsSpace);
    this.endSlot();
  }

  /** Undoes this job alone. If that fails, the whole batch is undone, because its commit would include this job. */
  private undoSavepoint(): void {
    if (!this.connection.database.inTransaction) return;
    try {
      this.connection.run(`ROLLBACK TO ${SAVEPOINT}`);
      this.connection.run(`RELEASE ${SAVEPOINT}`);
      // Otherwise later jobs of the batch would defer their foreign keys, too.
      if (this.deferredForeignKeys) this.connection.run('PRAGMA defer_foreign_keys = OFF');
    } catch (error) {
      this.group.failAll(error);
    }
  }

  /** Checks foreign keys here. SQLite would check them at the group commit, and fail all jobs. */
  private checkForeignKeys(): void {
    this.connection.run('PRAGMA defer_foreign_keys = OFF');
    const violations = this.connection.run('PRAGMA foreign_key_check').rows ?? [];
    if (violations.length > 0) {
      throw Object.assign(new Error('FOREIGN KEY constraint failed'), { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' });
    }
  }
}
