import { type Sql, sqlOf } from '../engine.js';
import { TRANSACTION_ENDED } from '../transaction-control.js';
import type { ConnectionPool } from './connections/connection-pool.js';
import type { PostgresClient } from './connections/postgres-client.js';
import { explained, outcomeUnknown } from './postgres-errors.js';

// A placeholder, or a quoted string or name, whose question marks are not placeholders.
const TOKENS = /'[^']*'|"[^"]*"|\?/g;

/** Makes an `Sql` from a function that runs SQL whose parameters are `$1`, `$2`, ... */
export function postgresSql(run: (sql: string, parameters: unknown[]) => Promise<unknown[]>): Sql {
  return sqlOf((sql, parameters) => {
    let count = 0;
    return run(
      sql.replace(TOKENS, (token) => (token === '?' ? `$${++count}` : token)),
      parameters,
    );
  });
}

/** Limits in milliseconds; `idle` is the time between two statements. */
export type TransactionLimits = Readonly<Record<'statement' | 'lock' | 'idle', number>>;

/** The statements that begin a transaction with its own limits: a pooler gives the session to others afterwards. */
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

export class PostgresTransaction {
  /** The error of node-postgres that ended the transaction before its COMMIT. */
  failure?: unknown;
  private isOver = false;
  private client!: PostgresClient;

  constructor(private readonly connections: ConnectionPool) {}

  async begin(begin: string): Promise<void> {
    this.client = await this.connections.take();
    try {
      await this.run(begin);
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  readonly run = async (sql: string, parameters: unknown[] = []): Promise<unknown[]> => {
    if (this.isOver) throw TRANSACTION_ENDED;
    try {
      return (await this.client.query<object>(sql, parameters)).rows;
    } catch (error) {
      this.failure ??= error;
      throw explained(error, sql, parameters);
    }
  };

  /** @throws {OutcomeUnknownError} when the transaction may be stored; after any other error it is not stored */
  async commit(): Promise<void> {
    this.isOver = true;
    this.failure = undefined;
    try {
      await this.client.query(COMMIT);
    } catch (error) {
      throw outcomeUnknown(error) ?? explained(error, 'COMMIT', []);
    } finally {
      await this.connections.giveBack(this.client);
    }
  }

  /** Does nothing after the end. */
  async rollback(): Promise<void> {
    if (this.isOver || this.client === undefined) return;
    this.isOver = true;
    await this.connections.giveBack(this.client);
  }
}
