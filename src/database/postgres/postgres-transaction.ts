import { transactionTooLong } from '../errors.js';
import { TRANSACTION_ENDED } from '../transaction-control.js';
import type { ConnectionPool } from './connections/connection-pool.js';
import type { PostgresClient } from './connections/postgres-client.js';
import { explained, isConnectionFailure, outcomeUnknown } from './postgres-errors.js';
import { execute } from './postgres-sql.js';

/** Limits in milliseconds. */
export interface TransactionLimits {
  readonly statement: number;
  readonly lock: number;
  /** Milliseconds between two statements of a transaction. */
  readonly idle: number;
}

/**
 * The statements that begin a transaction with its limits, sent as one message. The limits are local to the
 * transaction, because a pooler like PgBouncer gives the session to others afterwards.
 */
export function beginning(begin: string, { statement, lock, idle }: TransactionLimits): string {
  return (
    `${begin}; SET LOCAL statement_timeout = ${statement}; SET LOCAL lock_timeout = ${lock}; ` +
    `SET LOCAL idle_in_transaction_session_timeout = ${idle}`
  );
}

/**
 * COMMIT without a statement time-out, which could end the wait for a synchronous standby and leave the commit
 * unconfirmed. After a failed statement, a bare COMMIT responds ROLLBACK as a success; this one responds 25P02.
 */
export const COMMIT = 'SET LOCAL statement_timeout = 0; COMMIT';

/** One transaction, alone on a connection. */
export class PostgresTransaction {
  private over?: Error;
  /** The error of node-postgres that ended the transaction before its COMMIT. */
  failure?: unknown;
  private client!: PostgresClient;
  private timer?: NodeJS.Timeout;

  constructor(private readonly connections: ConnectionPool) {}

  /**
   * Takes a connection and begins. Call it first.
   * @param begin result of `beginning`
   * @param timeout milliseconds until the transaction is rolled back, even while the caller uses it; no limit if absent
   */
  async begin(begin: string, timeout?: number): Promise<void> {
    try {
      this.client = await this.connections.take();
      await execute(this.client, begin, undefined);
    } catch (error) {
      this.over = TRANSACTION_ENDED;
      this.failure = error;
      if (this.client !== undefined) this.discard(error);
      throw explained(error, begin, []);
    }
    if (timeout !== undefined) this.timer = setTimeout(() => this.expire(timeout), timeout);
  }

  readonly run = async (sql: string, parameters: unknown[]): Promise<unknown[]> => {
    this.assertOpen();
    try {
      return (await execute(this.client, sql, parameters)).rows;
    } catch (error) {
      // The transaction may have timed out meanwhile.
      this.assertOpen();
      this.failure ??= error;
      throw explained(error, sql, parameters);
    }
  };

  /** @throws {OutcomeUnknownError} when the transaction may be stored; after any other error it is not stored */
  async commit(): Promise<void> {
    this.assertOpen();
    clearTimeout(this.timer);
    this.over = TRANSACTION_ENDED;
    this.failure = undefined;
    try {
      await execute(this.client, COMMIT, undefined);
    } catch (error) {
      await this.end(error);
      throw outcomeUnknown(error) ?? explained(error, 'COMMIT', []);
    }
    this.connections.giveBack(this.client);
  }

  /** Rolls everything back. Does nothing after the end. */
  async rollback(): Promise<void> {
    if (this.over !== undefined) return;
    clearTimeout(this.timer);
    this.over = TRANSACTION_ENDED;
    await this.end(this.failure);
  }

  private assertOpen(): void {
    if (this.over !== undefined) throw this.over;
  }

  private async end(failure: unknown): Promise<void> {
    if (isConnectionFailure(failure)) return this.connections.giveBack(this.client, failure);
    try {
      await this.client.query('ROLLBACK');
      this.connections.giveBack(this.client, failure);
    } catch {
      this.discard();
    }
  }

  private expire(timeout: number): void {
    this.over = transactionTooLong(timeout);
    this.discard();
  }

  private discard(failure?: unknown): void {
    this.client.mustClose = true;
    this.connections.giveBack(this.client, failure);
  }
}
