import { Logger } from '@nestjs/common';
import pg, { type ClientConfig, type QueryResult } from 'pg';
import { TypeORMError } from 'typeorm';
import type { Config } from '../../../config/config.js';
import type { PostgresHost, PostgresUrl } from '../../../config/postgres-url.js';
import { publishStatement } from '../../database-events.js';
import { OutcomeUnknownError, UnsafeIntegerError } from '../../errors.js';
import { withoutLead } from '../../transaction-control.js';
import { isConnectionFailure, isTransactionTimeout, publishEngineError, timeoutMessage } from '../postgres-errors.js';

/** The configured servers, and the last known primary. */
export class Hosts {
  private index = 0;
  /** Increased when a server stopped or lost its role. Connections of earlier generations may lead to that server. */
  generation = 0;
  /** The timeline of the last new connection to a primary; unknown if the server does not tell it. */
  timeline?: string;
  private serving?: PostgresHost;

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

  /** Notes the server of a new connection that accepts writes, and logs that it is another one than before. */
  serve(host: PostgresHost): void {
    if (this.serving !== undefined && this.serving !== host) {
      new Logger('Database').warn(`The database is now at ${textOf(host)}, no longer at ${textOf(this.serving)}`);
    }
    this.serving = host;
  }

  toString(): string {
    return this.all.map(textOf).join(',');
  }
}

const textOf = ({ host, port }: PostgresHost): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

// By default, `pg` writes a date in the zone of the process, and drops the seconds of an old offset.
pg.defaults.parseInputDatesAsUTC = true;

const TIMESTAMP = 1114;
const TIMESTAMPTZ = 1184;

/** A timestamp without a zone is UTC, too. Otherwise `pg` would read another instant than it wrote. */
const parseInstant = pg.types.getTypeParser(TIMESTAMPTZ) as (text: string) => unknown;
pg.types.setTypeParser(TIMESTAMP, (text) => parseInstant(text.replace(/\d(?= BC$|$)/, '$&+00')));

const INT8 = 20;
const INT8_ARRAY = 1016 as number;

/** Parses an array, which may have several dimensions, to texts. */
const parseTexts = pg.types.getTypeParser(INT8_ARRAY) as (array: string) => unknown;

/** Longest delay of `setTimeout` in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The protocol counts parameters with 16 bits. */
const MOST_PARAMETERS = 65_535;

const UNCONFIRMED = 'The wait for the standby was cancelled: the commit may be lost with the primary';

export interface PostgresClientConfig extends ClientConfig {
  readonly hosts: Hosts;
  /** Milliseconds that a server may take to accept a connection. */
  readonly connectTimeout: number;
  readonly onConnecting: () => void;
  /** Called with the error if the server rejects the connection, before `pg.Pool` makes one for the next caller. */
  readonly onConnected: (error: Error | null) => void;
}

/**
 * One connection to the last known primary. A statement that is a string comes from a caller: it is measured, and the
 * connection closes later if it changed the session. Statements that are objects are sent as they are.
 */
export class PostgresClient extends pg.Client {
  readonly target: PostgresHost;
  readonly generation: number;
  /** Makes the pool close the connection, because its state is unknown, or a caller has changed the session. */
  mustClose = false;
  /** Whether a caller has the connection. */
  isTaken = false;
  /** The first error that ended the connection, or showed that it leads to the wrong server. */
  failure?: Error;
  /** Whether statements have no time-out, as in a migration. */
  isUnlimited = false;
  /** Whether the server committed the statement in flight without the confirmation of a standby. */
  private isUnconfirmed = false;
  /** Whether no statement is in flight. */
  private isReady = true;
  /** Whether an unsafe integer becomes an error in its row: while rows are streamed, an exception is uncaught. */
  private isStreaming = false;

  constructor(private readonly config: PostgresClientConfig) {
    const { hosts } = config;
    const target = hosts.current;
    // `pg.Pool` hides the password from code that copies its options.
    super({ ...config, ...target, password: config.password, connectionTimeoutMillis: config.connectTimeout });
    this.target = target;
    this.generation = hosts.generation;
    this.setTypeParser(INT8, this.toSafeInteger);
    this.setTypeParser(INT8_ARRAY, (array: string) => this.toSafeIntegers(parseTexts(array)));
    // A broken connection rejects its statements. Without a listener, the event would also end the process.
    this.on('error', (error) => {
      this.failure ??= error;
      // A caller that has forgotten the transaction never gets its error.
      if (isTransactionTimeout(error)) new Logger('Database').warn(timeoutMessage(error));
    });
    this.on('drain', () => {
      this.isReady = true;
      // Rows may arrive after their stream was destroyed, but not after this event.
      this.isStreaming = false;
    });
    // The server reports a cancelled wait for a standby only as a notice (src/backend/replication/syncrep.c).
    this.on('notice', ({ routine }) => (this.isUnconfirmed ||= routine === 'SyncRepWaitForLSN'));
    const superQuery = super.query.bind(this) as (...parameters: unknown[]) => unknown;
    const send = (...parameters: unknown[]): unknown => {
      this.isReady = false;
      return superQuery(...parameters);
    };
    const query = (statement: string | object, values?: unknown[] | null, ...rest: unknown[]): unknown => {
      if (typeof statement === 'object') this.isStreaming ||= 'submit' in statement;
      const isOfCaller = typeof statement === 'string' && typeof values !== 'function' && rest.length === 0;
      if (!isOfCaller) return send(statement, values, ...rest);
      const limited = { text: statement, values, query_timeout: this.isUnlimited ? LONGEST_TIMER : undefined };
      return this.run(statement, values ?? [], () => send(limited) as Promise<QueryResult>);
    };
    this.query = query as typeof this.query;
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

  /** Whether a transaction is open, according to the last ReadyForQuery message of the server. */
  get isInTransaction(): boolean {
    return this.getTransactionStatus() !== 'I';
  }

  get isIdle(): boolean {
    return this.isReady && !this.isInTransaction;
  }

  /** @throws {OutcomeUnknownError} for a commit that no standby has confirmed; otherwise errors of node-postgres */
  private async run(sql: string, values: unknown[], send: () => Promise<QueryResult>): Promise<QueryResult> {
    if (values.length > MOST_PARAMETERS) {
      throw new TypeORMError(
        `The statement has ${values.length} parameters, and PostgreSQL takes ${MOST_PARAMETERS}: send it in parts, ` +
          'or the values as one array (= ANY($1))',
      );
    }
    const started = performance.now();
    let failure: Error | undefined;
    try {
      const result = await send();
      if (this.isUnconfirmed) throw new OutcomeUnknownError(UNCONFIRMED);
      return result;
    } catch (error) {
      // The server may have ended the session before the statement, by a time-out that says why it failed.
      failure = isTransactionTimeout(this.failure) ? this.failure : (error as Error);
      if (isConnectionFailure(failure)) this.failure ??= failure;
      publishEngineError(failure);
      throw failure;
    } finally {
      this.isUnconfirmed = false;
      this.mustClose ||= changesSession(sql);
      const milliseconds = performance.now() - started;
      const kind = READS.test(sql) ? 'read' : 'write';
      publishStatement({ kind, milliseconds, system: 'postgresql', sql, error: failure });
    }
  }

  /**
   * Parses a 64-bit integer to a number, as SQLite returns it.
   * @throws {UnsafeIntegerError} for an unsafe integer; while rows are streamed, it returns the error as the value
   */
  private readonly toSafeInteger = (digits: string): number | UnsafeIntegerError => {
    const value = Number(digits);
    if (Number.isSafeInteger(value)) return value;
    const error = new UnsafeIntegerError(digits);
    if (!this.isStreaming) throw error;
    return error;
  };

  private toSafeIntegers(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((element) => this.toSafeIntegers(element));
    return value === null ? null : this.toSafeInteger(value as string);
  }
}

/** TLS options for an `sslmode`, as in libpq (https://www.postgresql.org/docs/current/libpq-ssl.html). */
export function tlsOf({ sslMode, sslCa }: PostgresUrl & Config['database']): ClientConfig['ssl'] {
  if (sslMode === 'disable') return false;
  if (sslMode === 'verify-full') return { ca: sslCa };
  const checked = sslMode === 'verify-ca' || sslCa !== undefined;
  return checked ? { ca: sslCa, checkServerIdentity: () => undefined } : { rejectUnauthorized: false };
}

export const READS = /^\s*SELECT\b(?![\s\S]*\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b)/i;
const CHANGES_NOTHING = /^\s*(SHOW|SET|RESET|BEGIN|START|ROLLBACK|SAVEPOINT|EXPLAIN(?!\s+\(?ANALY))\b/i;

/** Tells whether an autocommit statement may have changed data when its response is lost. */
export function mayWrite(sql: string): boolean {
  return !READS.test(sql) && !CHANGES_NOTHING.test(sql);
}

/** `SET LOCAL`, `SET TRANSACTION` and `SET CONSTRAINTS` end with their transaction. */
const CHANGES_SESSION =
  /^(?:SET\s+(?!LOCAL\b|TRANSACTION\b|CONSTRAINTS\b)|RESET\b|(?:UN)?LISTEN\b|LOAD\b|DISCARD\b|DEALLOCATE\b|PREPARE\s+(?!TRANSACTION\b)|CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+|LOCAL\s+)?TEMP|DECLARE\b.*\bWITH\s+HOLD\b)/is;
/** Session locks, `set_config` with anything but `true`, and `SELECT INTO TEMP`. */
const CALL_THAT_CHANGES_SESSION =
  /\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(|\bset_config\s*\((?![^()]*,\s*true\s*\))|(?<!\bINSERT\s+)\bINTO\s+TEMP(?:ORARY)?\b/i;

/** Tells whether a statement leaves a setting, a lock or a temporary table on its connection after the transaction. */
export function changesSession(sql: string): boolean {
  return CHANGES_SESSION.test(withoutLead(sql)) || CALL_THAT_CHANGES_SESSION.test(sql);
}

export const NEEDS_A_SESSION =
  'This statement changes the session of a connection, which other callers share: outside a transaction, the next ' +
  'statement may run on another one. Use SET LOCAL, pg_advisory_xact_lock or ON COMMIT DROP inside ' +
  'dataSource.transaction(...), or your own query runner (dataSource.createQueryRunner()), whose connection is closed ' +
  'when it is released';
