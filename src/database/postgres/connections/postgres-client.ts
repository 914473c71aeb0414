import { once } from 'node:events';
import pg, { type ClientConfig, type QueryConfig } from 'pg';
import type { PostgresHost } from '../../../config/postgres-url.js';
import type { Hosts } from './hosts.js';
import { UnsafeIntegerError } from '../../errors.js';
import { isServerFull } from '../postgres-errors.js';
import { changesSession } from '../session-state.js';

const INT8 = 20;

export interface PostgresClientConfig extends ClientConfig {
  readonly hosts: Hosts;
  /** Milliseconds a server may take to accept a connection. */
  readonly connectTimeout: number;
}

/** One connection, to the server that was the primary last. */
export class PostgresClient extends pg.Client {
  readonly target: PostgresHost;
  readonly generation: number;
  /** Set when its state is not known, so that the pool closes it. */
  mustClose = false;
  /** Whether a caller has changed its session; the next one gets another connection. */
  hasOwnState = false;
  /** Whether an integer that no number can hold becomes an error among the values of its row, rather than be thrown. */
  isStreaming = false;
  /** The statement that began the transaction which a query runner has open on it, and the last one. */
  openTransaction?: { readonly first: string; last: string };
  private readonly hosts: Hosts;
  private unconfirmed = false;

  constructor(config: PostgresClientConfig) {
    const { hosts } = config;
    const target = hosts.current;
    // The pool hides the password from those who copy its options.
    super({
      ...config,
      ...target,
      password: config.password,
      connectionTimeoutMillis: config.connectTimeout,
      types: { getTypeParser: (oid, format) => this.typeParser(oid, format) },
    });
    this.target = target;
    this.hosts = hosts;
    this.generation = hosts.generation;
    // A connection that breaks rejects the statements in flight; without a listener, it would also end the process.
    this.on('error', () => undefined);
    this.on('notice', (notice) => {
      if (notice.routine === 'SyncRepWaitForLSN') this.unconfirmed = true;
    });
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
    if (callback === undefined) return super.connect();
    super.connect((error: Error | null) => {
      if (error && !isServerFull(error)) this.hosts.failOver(this.target);
      callback(error as Error);
    });
  }

  /** Whether a transaction is open, as far as the server has said: in the status of its last ReadyForQuery message. */
  get isInTransaction(): boolean {
    return this.getTransactionStatus() !== 'I';
  }

  /** Whether no transaction is open and no statement in flight, so that the next caller may have it. */
  get isIdle(): boolean {
    return this.isReady && !this.isInTransaction;
  }

  /** Remembers a statement that has run: whether it changed the session and, as long as a transaction is open, for the log. */
  noteStatement(sql: string): void {
    if (changesSession(sql)) this.hasOwnState = true;
    if (!this.isInTransaction) this.openTransaction = undefined;
    else if (this.openTransaction === undefined) this.openTransaction = { first: sql, last: sql };
    else this.openTransaction.last = sql;
  }

  /**
   * Waits for the statements in flight, then rolls back the transaction that is open, if there is one.
   * @param timeout milliseconds for each of the two
   * @returns whether it is idle now; else its state is not known
   */
  async reset(timeout: number): Promise<boolean> {
    if (!this.isReady) await this.whenReady(timeout);
    if (!this.isReady) return false;
    if (this.isInTransaction) await this.query({ text: 'ROLLBACK', query_timeout: timeout } as QueryConfig);
    return this.isIdle;
  }

  /** An error is thrown when the server reports it, which is before it says that it is ready again. */
  private async whenReady(timeout: number): Promise<void> {
    // It emits `drain` when it has nothing left to do.
    await once(this, 'drain', { signal: AbortSignal.timeout(timeout) }).catch(() => undefined);
  }

  private get isReady(): boolean {
    return (this as unknown as { readyForQuery: boolean }).readyForQuery;
  }

  /** Ids, revisions and counts are at most 2^53 - 1, so the engine's 64-bit integers are numbers, as on SQLite. */
  private typeParser(oid: number, format?: 'text' | 'binary'): unknown {
    return oid === INT8 ? this.toSafeInteger : pg.types.getTypeParser(oid, format);
  }

  /** @throws {UnsafeIntegerError} rather than round it; a stream has nobody who would catch it */
  private readonly toSafeInteger = (digits: string): number | UnsafeIntegerError => {
    const value = Number(digits);
    if (Number.isSafeInteger(value)) return value;
    const error = new UnsafeIntegerError(digits);
    if (!this.isStreaming) throw error;
    return error;
  };

  /** Milliseconds to wait for a response; 0 waits for ever. */
  set queryTimeout(milliseconds: number) {
    (this as unknown as { connectionParameters: { query_timeout: number } }).connectionParameters.query_timeout =
      milliseconds;
  }

  /**
   * Whether since the last call something was committed that no standby has confirmed: the wait was cancelled, and the server
   * says so in a mere notice (src/backend/replication/syncrep.c).
   */
  takeUnconfirmed(): boolean {
    const { unconfirmed } = this;
    this.unconfirmed = false;
    return unconfirmed;
  }
}
