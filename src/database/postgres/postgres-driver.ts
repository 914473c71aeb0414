import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, ReplicationMode } from 'typeorm';
import { PostgresDriver as TypeOrmPostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import {
  type BatchedReads,
  type ConnectionUsage,
  type Dialect,
  ENGINE,
  type Engine,
  repeatRead,
  type Snapshot,
  type Sql,
  type StatementLimits,
} from '../engine.js';
import { ConnectionPools } from './connections/connection-pools.js';
import type { PostgresSettings } from './connections/connection-pool.js';
import { portable } from './portable-columns.js';
import { Hosts, type PostgresClient } from './connections/postgres-client.js';
import {
  explained,
  isConflict,
  isConnectionFailure,
  isOfServer,
  isTimeout,
  outcomeUnknown,
  startError,
} from './postgres-errors.js';
import { type OutsideWrites, PostgresQueryRunner, type TransactionSettings } from './postgres-query-runner.js';
import { execute, mayWrite, PostgresSql, READS } from './postgres-sql.js';
import { beginning, PostgresTransaction, type TransactionLimits } from './postgres-transaction.js';

/** Attempts of a transaction that the server undid in a conflict, or whose connection broke before COMMIT. */
const ATTEMPTS = 5;

/** Milliseconds that the server waits longer than the client for the next statement of a transaction. */
const IDLE_GRACE = 1000;

const IS_READ_ONLY = `SELECT current_setting('transaction_read_only')::boolean AS read_only`;

/**
 * TypeORM's PostgreSQL driver with connections and errors of this service, and the engine for PostgreSQL. Transactions
 * are READ COMMITTED. The first statement of a transaction locks the rows that must not change. Every transaction locks
 * the record before the `storage` row, which prevents deadlocks.
 */
export class PostgresDriver extends TypeOrmPostgresDriver implements Engine, TransactionSettings {
  readonly [ENGINE] = true;
  readonly dialect: Dialect = {
    json: (expression) => `to_json(${expression})::text`,
    jsonReal: (expression) => `to_json(${expression})`,
    decimal: (expression) => `CAST(${expression} AS text)`,
    day: (expression) => `to_char(${expression}, 'YYYY-MM-DD')`,
    isoDate: (expression) => `to_char(${expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    exactDate: (expression) => `to_char(${expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`,
    dateOfExact: (expression) => `CAST(${expression} AS timestamp) AT TIME ZONE 'UTC'`,
    join: (expression, column, direction) => `string_agg(${expression}, '' ORDER BY ${column} ${direction})`,
    forUpdate: (table) => ` FOR UPDATE OF ${table}`,
    now: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)',
    lastGivenId,
  };
  readonly advanceIdSequence = advanceIdSequence;

  readonly hasSingleWriter = false;
  readonly statementLimits: StatementLimits = {
    scannedRows: Infinity,
    countedRows: Infinity,
    jsonBytes: Infinity,
    firstRecords: Infinity,
  };
  readonly batchedReads: BatchedReads = { maxBatchSize: 500, isOneOf: (column) => `${column} = ANY(?)` };
  readonly hosts: Hosts;
  outsideWrites?: OutsideWrites;
  private pools!: ConnectionPools;

  constructor(
    dataSource: DataSource,
    private readonly settings: PostgresSettings,
  ) {
    super(dataSource);
    this.hosts = new Hosts(settings.hosts);
  }

  /** The default as PostgreSQL reports it: a fraction has no quotes. TypeORM compares the two as text. */
  override normalizeDefault(column: ColumnMetadata): string | undefined {
    const { default: value } = column;
    const isFraction = typeof value === 'number' && value > 0 && !Number.isInteger(value);
    return isFraction ? String(value) : super.normalizeDefault(column);
  }

  /** @throws {DatabaseStartError} with the server and the reason */
  override async connect(): Promise<void> {
    this.pools = new ConnectionPools(this.settings, this.hosts);
    this.master = this.pools.ordinary.pool;
    try {
      // TypeORM's `connect` would make its own pool, so its other queries are sent here.
      const runner = this.createQueryRunner('master');
      try {
        this.version ??= await runner.getVersion();
        this.searchSchema ??= await runner.getCurrentSchema();
        this.schema ??= this.searchSchema;
        await this.expectUtf8(runner);
      } finally {
        await runner.release();
      }
    } catch (error) {
      await this.disconnect();
      throw startError(this.hosts.toString(), error);
    }
  }

  override async disconnect(): Promise<void> {
    // Forgotten query runners would keep the pool open.
    for (const runner of [...this.connectedQueryRunners]) await runner.release();
    await this.pools.close();
    this.master = undefined;
  }

  get connections(): ConnectionUsage[] {
    return this.pools?.all.map(({ usage }) => usage) ?? [];
  }

  explain(error: unknown): unknown {
    return isOfServer(error) ? startError(this.hosts.toString(), error) : error;
  }

  readonly committed: Sql = new PostgresSql((sql, parameters) => this.autocommit(sql, parameters));

  async transaction<T>(work: (transaction: Sql) => Promise<T>): Promise<T> {
    this.outsideWrites?.check(undefined, 'a separate transaction');
    const deadline = performance.now() + this.busyTimeout;
    for (let attempt = 1; ; attempt++) {
      const [result, failure] = await this.attempt(work);
      if (failure === undefined) return result as T;
      const again = attempt < ATTEMPTS && performance.now() < deadline && mayRepeat(failure.cause);
      if (!again) throw failure.error;
      // A random pause, so that two transactions in conflict do not start again at the same moment.
      await sleep(attempt * 10 * Math.random());
    }
  }

  async openSnapshot(): Promise<Snapshot> {
    const limits = { ...this.limits, idle: this.settings.listTimeout + IDLE_GRACE };
    const begin = beginning('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', limits);
    try {
      const transaction = await PostgresTransaction.begin(this.pools.lists, begin);
      return Object.assign(new PostgresSql(transaction.run), { close: () => void transaction.rollback() });
    } catch (error) {
      throw explained(error, begin, []);
    }
  }

  async check(): Promise<void> {
    const { checks } = this.pools;
    await repeatRead(async () => {
      const client = await checks.take();
      try {
        await this.expectWritable(client);
        checks.giveBack(client);
      } catch (error) {
        checks.giveBack(client, error);
        throw explained(error, IS_READ_ONLY, []);
      }
    });
  }

  /** Takes a connection for a query runner of TypeORM. */
  override async obtainMasterConnection(): Promise<[unknown, (failure?: unknown) => void]> {
    const { ordinary } = this.pools;
    const client = await ordinary.take();
    return [client, (failure) => ordinary.giveBack(client, failure)];
  }

  override createQueryRunner(mode: ReplicationMode): PostgresQueryRunner {
    return new PostgresQueryRunner(this, mode);
  }

  override normalizeType(column: Parameters<TypeOrmPostgresDriver['normalizeType']>[0]): string {
    return portable(super.normalizeType(column));
  }

  get busyTimeout(): number {
    return this.settings.busyTimeout;
  }

  get limits(): TransactionLimits {
    const { statementTimeout, busyTimeout, transactionTimeout } = this.settings;
    // The client ends a transaction before the server does, with an error that names the reason.
    return { statement: statementTimeout, lock: busyTimeout, idle: transactionTimeout + IDLE_GRACE };
  }

  /** Milliseconds that a transaction may take. */
  get transactionTimeout(): number {
    return this.settings.transactionTimeout;
  }

  /** Rejects encodings other than UTF-8, because they cannot store all strings. */
  private async expectUtf8(runner: PostgresQueryRunner): Promise<void> {
    const [row] = (await runner.query('SHOW server_encoding')) as { server_encoding: string }[];
    if (row?.server_encoding === 'UTF8') return;
    throw new Error(
      `the database ${this.settings.database} is encoded in ${row?.server_encoding}; make one with ENCODING 'UTF8'`,
    );
  }

  private async attempt<T>(work: (transaction: Sql) => Promise<T>): Promise<[T?, Failure?]> {
    const begin = beginning('BEGIN', this.limits);
    let transaction: PostgresTransaction;
    try {
      transaction = await PostgresTransaction.begin(this.pools.ordinary, begin, this.transactionTimeout);
    } catch (error) {
      return [undefined, { error: explained(error, begin, []), cause: error }];
    }
    let result: T;
    try {
      result = await work(new PostgresSql(transaction.run));
    } catch (error) {
      await transaction.rollback();
      return [undefined, { error, cause: transaction.failure }];
    }
    await transaction.commit();
    return [result];
  }

  private async expectWritable(client: PostgresClient): Promise<void> {
    const { rows } = await execute(client, IS_READ_ONLY, []);
    if (rows[0]?.['read_only'] === true) throw Object.assign(new Error('The server is read-only'), { code: '25006' });
  }

  /** Runs one statement outside a transaction. A read is repeated if its connection breaks. */
  private autocommit(sql: string, parameters: unknown[]): Promise<unknown[]> {
    return READS.test(sql) ? repeatRead(() => this.runOnce(sql, parameters)) : this.runOnce(sql, parameters);
  }

  private async runOnce(sql: string, parameters: unknown[]): Promise<unknown[]> {
    const { ordinary } = this.pools;
    const client = await ordinary.take();
    try {
      const { rows } = await execute(client, sql, parameters);
      ordinary.giveBack(client);
      return rows;
    } catch (error) {
      ordinary.giveBack(client, error);
      throw (mayWrite(sql) && outcomeUnknown(error)) || explained(error, sql, parameters);
    }
  }
}

interface Failure {
  /** The error for the caller. */
  readonly error: unknown;
  /** The error of node-postgres, if there is one. */
  readonly cause: unknown;
}

function mayRepeat(cause: unknown): boolean {
  return isConflict(cause) || (isConnectionFailure(cause) && !isTimeout(cause));
}

/** The largest id that the sequence of a table has given; 0 if it has given none. */
const lastGivenId = (table: string): string =>
  `coalesce(pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass), 0)`;

/**
 * A sequence does not roll back, but skipped ids do no harm. Does nothing for a column without a sequence.
 * @param table as an SQL name, quoted if necessary
 */
export async function advanceIdSequence(transaction: Sql, table: string, id: number, column = 'id'): Promise<void> {
  await transaction.sql`
    SELECT setval(name::regclass, ${id}::bigint) FROM pg_get_serial_sequence(${table}, ${column}) AS name
    WHERE coalesce(pg_sequence_last_value(name::regclass), 0) < ${id}::bigint`;
}
