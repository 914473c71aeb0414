import { QueryFailedError, QueryResult, type ReplicationMode, type Table, type TableColumn } from 'typeorm';
import { PostgresQueryRunner as TypeOrmPostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { OutcomeUnknownError } from '../errors.js';
import { repeatRead } from '../repeat-read.js';
import { portableColumn, portableTable } from './portable-columns.js';
import type { PostgresClient } from './postgres-client.js';
import type { PostgresDriver } from './postgres-driver.js';
import { isConnectionFailure, outcomeUnknown, publishEngineError, translatePostgresError } from './postgres-errors.js';
import { mayWrite, measured, READS, UNCONFIRMED } from './postgres-sql.js';
import { beginning, COMMIT } from './postgres-transaction.js';

/** How TypeORM begins a transaction. */
const BEGIN = 'START TRANSACTION';

/** The key of the lock that migrating processes take; "cookies" in ASCII, as a number. */
const MIGRATION_LOCK = 0x636f6f6b696573n;

/**
 * TypeORM's query runner with the errors of this service, the time-outs of its transactions, and rows for what returns rows:
 * TypeORM gives raw UPDATE and DELETE as rows and count, on PostgreSQL alone.
 */
export class PostgresQueryRunner extends TypeOrmPostgresQueryRunner {
  declare driver: PostgresDriver;
  private client?: PostgresClient;
  private migrating = false;
  /** TypeORM releases a runner also when its connection breaks. */
  private isReleasedByCaller = false;

  constructor(driver: PostgresDriver, mode: ReplicationMode) {
    super(driver, mode);
  }

  override async connect(): Promise<PostgresClient> {
    return (this.client = (await super.connect()) as PostgresClient);
  }

  /**
   * What begins a transaction, and a SELECT outside of one, is repeated on another connection when its own turns out to be
   * broken.
   * @throws {QueryFailedError} for a fault of the statement or a violated constraint
   * @throws {DatabaseUnavailableError} for a server that is away, a lock or a statement past its time-out, a deadlock
   * @throws {OutcomeUnknownError} when the response to a COMMIT, or to a write outside a transaction, was lost
   * @throws {DiskFullError} when the server's volume is full
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature is TypeORM's
  override async query(sql: string, parameters?: any[], useStructuredResult = false): Promise<any> {
    const isRepeatable = sql === BEGIN || (!this.isTransactionActive && READS.test(sql));
    if (!isRepeatable || this.migrating) return this.queryOnce(sql, parameters, useStructuredResult);
    return repeatRead(() => {
      this.replaceBrokenConnection();
      return this.queryOnce(sql, parameters, useStructuredResult);
    });
  }

  /** A connection that is broken, or still in a transaction, is closed. */
  override async release(): Promise<void> {
    this.isReleasedByCaller = true;
    if (this.client && (this.isTransactionActive || this.migrating)) this.client.mustClose = true;
    await super.release();
  }

  /** Migrations may take as long as they take. */
  override async beforeMigration(): Promise<void> {
    (await this.connect()).patience = 0;
    this.migrating = true;
  }

  override createTable(table: Table, ...rest: [boolean?, boolean?, boolean?]): Promise<void> {
    return super.createTable(portableTable(table), ...rest);
  }

  override addColumn(table: Table | string, column: TableColumn): Promise<void> {
    return super.addColumn(table, portableColumn(column));
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the signature is TypeORM's
  private async queryOnce(sql: string, parameters: any[] | undefined, useStructuredResult: boolean): Promise<any> {
    const isFinal = sql === 'COMMIT' || (!this.isTransactionActive && mayWrite(sql));
    const started = performance.now();
    try {
      const result = (await super.query(this.complete(sql), parameters, true)) as QueryResult;
      if (this.client?.takeUnconfirmed()) throw new OutcomeUnknownError(UNCONFIRMED);
      return useStructuredResult ? result : result.records;
    } catch (error) {
      const cause = error instanceof QueryFailedError ? (error.driverError as unknown) : error;
      publishEngineError(cause);
      if (this.client && isConnectionFailure(cause)) this.client.mustClose = true;
      throw (isFinal && outcomeUnknown(cause)) || (translatePostgresError(cause) ?? error);
    } finally {
      measured(sql, performance.now() - started);
    }
  }

  private replaceBrokenConnection(): void {
    if (!this.client?.mustClose || this.isReleasedByCaller) return;
    void super.release();
    this.isReleased = false;
    this.databaseConnection = undefined;
    this.databaseConnectionPromise = undefined as unknown as Promise<unknown>;
    this.client = undefined;
  }

  private complete(sql: string): string {
    if (sql === 'COMMIT') return COMMIT;
    if (sql !== BEGIN) return sql;
    if (!this.migrating) return beginning(sql, this.driver.limits);
    // A lock of the transaction and not of the session: through a pooler, the session of a moment is somebody else's.
    return `${beginning(sql, { statement: 0, lock: 0, idle: 0 })}; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`;
  }
}
