import { Logger } from '@nestjs/common';
import pg, { type ClientConfig } from 'pg';
import type { Config } from '../../../config/config.js';
import type { PostgresHost, PostgresUrl } from '../../../config/postgres-url.js';
import { UnsafeIntegerError } from '../../errors.js';
import { withoutLead } from '../../transaction-control.js';
import { isTransactionTimeout, PAUSED } from '../postgres-errors.js';

/** The configured servers, and the last known primary. */
export class Hosts {
  private index = 0;
  /** Increased when a server stopped or lost its role. Connections of earlier generations may lead to that server. */
  generation = 0;

  constructor(private readonly all: readonly PostgresHost[]) {}

  get count(): number {
    return this.all.length;
  }

  get current(): PostgresHost {
    return this.all[this.index]!;
  }

  /** Chooses another host, because `host` failed or is read-only. */
  failOver(host: PostgresHost): void {
    if (host === this.current) this.index = (this.index + 1) % this.all.length;
  }

  /** Ends a generation, because one of its connections broke or led to the wrong server. */
  distrust(generation: number): void {
    if (generation === this.generation) this.generation++;
  }

  toString(): string {
    return this.all.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)).join(',');
  }
}

// By default, `pg` writes a date in the zone of the process, and drops the seconds of an old offset.
pg.defaults.parseInputDatesAsUTC = true;

const INT8 = 20;

/** Longest delay of `setTimeout` in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

export interface PostgresClientConfig extends ClientConfig {
  readonly hosts: Hosts;
  /** Milliseconds that a server may take to accept a connection. */
  readonly connectTimeout: number;
  readonly onConnecting: () => void;
  /** Called with the error if the server rejects the connection, before `pg.Pool` makes one for the next caller. */
  readonly onConnected: (error: Error | null) => void;
}

/** One connection to the last known primary. */
export class PostgresClient extends pg.Client {
  readonly target: PostgresHost;
  readonly generation: number;
  /** Makes the pool close the connection, because its state is unknown, or a caller has changed the session. */
  mustClose = false;
  /** The first error that ended the connection. */
  failure?: Error;
  /** Whether an unsafe integer becomes an error in its row: while rows are streamed, an exception is uncaught. */
  isStreaming = false;
  /** Whether statements have no time-out, as in a migration. */
  isUnlimited = false;
  private unconfirmed = false;
  /** Whether no statement is in flight. */
  private isReady = true;

  constructor(private readonly config: PostgresClientConfig) {
    const { hosts } = config;
    const target = hosts.current;
    // `pg.Pool` hides the password from code that copies its options.
    super({
      ...config,
      ...target,
      password: config.password,
      connectionTimeoutMillis: config.connectTimeout,
      types: { getTypeParser: (oid, format) => this.typeParser(oid, format) },
    });
    this.target = target;
    this.generation = hosts.generation;
    // A broken connection rejects its statements. Without a listener, the event would also end the process.
    this.on('error', (error) => {
      this.failure ??= error;
      // A caller that has forgotten the transaction never gets its error.
      if (isTransactionTimeout(error)) new Logger('Database').warn(PAUSED);
    });
    this.on('drain', () => (this.isReady = true));
    const query = super.query.bind(this) as (...parameters: unknown[]) => unknown;
    const tracked = (statement: unknown, ...rest: unknown[]): unknown => {
      this.isReady = false;
      const isLimited = !this.isUnlimited || typeof statement !== 'string';
      return query(isLimited ? statement : { text: statement, query_timeout: LONGEST_TIMER }, ...rest);
    };
    this.query = tracked as typeof this.query;
    this.on('notice', (notice) => {
      if (notice.routine === 'SyncRepWaitForLSN') this.unconfirmed = true;
    });
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
    if (callback === undefined) return super.connect();
    this.config.onConnecting();
    super.connect((error: Error) => {
      this.config.onConnected(error);
      callback(error);
    });
  }

  /** Why a statement failed: its own error, or the time-out by which the server ended the session before it. */
  reasonOf(error: Error): Error {
    return isTransactionTimeout(this.failure) ? this.failure : error;
  }

  /** Whether a transaction is open, according to the last ReadyForQuery message of the server. */
  get isInTransaction(): boolean {
    return this.getTransactionStatus() !== 'I';
  }

  /** Whether no transaction is open and no statement is in flight. */
  get isIdle(): boolean {
    return this.isReady && !this.isInTransaction;
  }

  /** Parses 64-bit integers to numbers, as SQLite returns them. */
  private typeParser(oid: number, format?: 'text' | 'binary'): unknown {
    return oid === INT8 ? this.toSafeInteger : pg.types.getTypeParser(oid, format);
  }

  /** @throws {UnsafeIntegerError} for an unsafe integer; while rows are streamed, it returns the error as the value */
  private readonly toSafeInteger = (digits: string): number | UnsafeIntegerError => {
    const value = Number(digits);
    if (Number.isSafeInteger(value)) return value;
    const error = new UnsafeIntegerError(digits);
    if (!this.isStreaming) throw error;
    return error;
  };

  /**
   * Tells whether a commit since the last call was not confirmed by a standby. The server reports a cancelled wait only
   * as a notice (src/backend/replication/syncrep.c).
   */
  takeUnconfirmed(): boolean {
    const { unconfirmed } = this;
    this.unconfirmed = false;
    return unconfirmed;
  }
}

/** TLS options for an `sslmode`, as in libpq (https://www.postgresql.org/docs/current/libpq-ssl.html). */
export function tlsOf({ sslMode, sslCa }: PostgresUrl & Config['database']): ClientConfig['ssl'] {
  if (sslMode === 'disable') return false;
  if (sslMode === 'verify-full') return { ca: sslCa };
  const checked = sslMode === 'verify-ca' || sslCa !== undefined;
  return checked ? { ca: sslCa, checkServerIdentity: () => undefined } : { rejectUnauthorized: false };
}

/**
 * Statements that change the session. `SET LOCAL`, `SET TRANSACTION` and `SET CONSTRAINTS` end with their transaction.
 */
const CHANGES_SESSION =
  /^(?:SET\s+(?!LOCAL\b|TRANSACTION\b|CONSTRAINTS\b)|RESET\b|(?:UN)?LISTEN\b|LOAD\b|DISCARD\b|DEALLOCATE\b|PREPARE\s+(?!TRANSACTION\b)|CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+|LOCAL\s+)?TEMP|DECLARE\b.*\bWITH\s+HOLD\b)/is;
/** Session locks, `set_config` with anything but `true`, and `SELECT INTO TEMP`. */
const CALL_THAT_CHANGES_SESSION =
  /\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(|\bset_config\s*\((?![^()]*,\s*true\s*\))|\bINTO\s+TEMP/i;

/** Tells whether a statement leaves a setting, a lock or a temporary table on its connection after the transaction. */
export function changesSession(sql: string): boolean {
  return CHANGES_SESSION.test(withoutLead(sql)) || CALL_THAT_CHANGES_SESSION.test(sql);
}

export const NEEDS_A_SESSION =
  'This statement changes the session of a connection, which other callers share: outside a transaction, the next ' +
  'statement may run on another one. Use SET LOCAL, pg_advisory_xact_lock or ON COMMIT DROP inside ' +
  'dataSource.transaction(...), or your own query runner (dataSource.createQueryRunner()), whose connection is closed ' +
  'when it is released';
