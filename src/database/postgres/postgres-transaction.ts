import { TypeORMError } from 'typeorm';
import { transactionTooLong } from '../errors.js';
import type { ConnectionPool } from './connections/connection-pool.js';
import type { PostgresClient } from './connections/postgres-client.js';
import { explained, isConnectionFailure, outcomeUnknown } from './postgres-errors.js';
import { execute, type SlowStatements } from './postgres-sql.js';

/** Milliseconds. */
export interface TransactionLimits {
  readonly statement: number;
  readonly lock: number;
  /** Between two statements of a transaction. */
  readonly idle: number;
}

/**
 * The statements that begin a transaction with its limits, sent as one message. They hold for this transaction alone, because
 * a pooler like PgBouncer gives the session to somebody else afterwards.
 */
export function beginning(begin: string, { statement, lock, idle }: TransactionLimits): string {
  return (
    `${begin}; SET LOCAL statement_timeout = ${statement}; SET LOCAL lock_timeout = ${lock}; ` +
    `SET LOCAL idle_in_transaction_session_timeout = ${idle}`
  );
}

/**
 * A statement_timeout that ended the COMMIT while it waits for a synchronous standby would leave it committed, unconfirmed.
 * And where a statement has failed, a bare COMMIT would respond ROLLBACK as a success; this responds 25P02.
 */
export const COMMIT = 'SET LOCAL statement_timeout = 0; COMMIT';

/** One transaction on a connection of its own. */
export class PostgresTransaction {
  private over?: Error;
  private failure?: unknown;
  private timer?: NodeJS.Timeout;

  private constructor(
    private readonly connections: ConnectionPool,
    private readonly client: PostgresClient,
    private readonly slow: SlowStatements,
  ) {}

  /**
   * @param begin as `beginning` gives it
   * @param timeout milliseconds after which it is rolled back, even while the caller still uses it; none without
   * @throws what node-postgres throws
   */
  static async begin(
    connections: ConnectionPool,
    begin: string,
    slow: SlowStatements,
    timeout?: number,
  ): Promise<PostgresTransaction> {
    const client = await connections.take();
    const transaction = new PostgresTransaction(connections, client, slow);
    try {
      await execute(client, begin, undefined, slow);
    } catch (error) {
      client.mustClose = true;
      connections.giveBack(client, error);
      throw error;
    }
    if (timeout !== undefined) transaction.timer = setTimeout(() => transaction.expire(timeout), timeout);
    return transaction;
  }

  /** What went wrong on its connection, or made the server undo it; as node-postgres has thrown it. */
  get cause(): unknown {
    return this.failure;
  }

  readonly run = async (sql: string, parameters: unknown[]): Promise<unknown[]> => {
    this.assertOpen();
    try {
      return (await execute(this.client, sql, parameters, this.slow)).rows;
    } catch (error) {
      // It may have expired meanwhile.
      this.assertOpen();
      this.failure ??= error;
      throw explained(error, sql, parameters);
    }
  };

  /** @throws {OutcomeUnknownError} when everything may be stored or nothing; after any other error it is nothing */
  async commit(): Promise<void> {
    this.assertOpen();
    clearTimeout(this.timer);
    this.over = ENDED;
    try {
      await execute(this.client, COMMIT, undefined, this.slow);
    } catch (error) {
      await this.end(error);
      throw outcomeUnknown(error) ?? explained(error, 'COMMIT', []);
    }
    this.connections.giveBack(this.client);
  }

  /** Undoes everything; does nothing after the end. */
  async rollback(): Promise<void> {
    if (this.over !== undefined) return;
    clearTimeout(this.timer);
    this.over = ENDED;
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
      this.connections.discard(this.client);
    }
  }

  private expire(timeout: number): void {
    this.over = transactionTooLong(timeout);
    this.connections.discard(this.client);
  }
}

const ENDED = new TypeORMError('The transaction has ended');
