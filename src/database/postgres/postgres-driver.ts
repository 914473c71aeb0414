import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { DataSource, ReplicationMode } from 'typeorm';
import { PostgresDriver as TypeOrmPostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type ConnectionUsage, type Dialect, type Engine, repeatRead, type Snapshot, type Sql } from '../engine.js';
import { ConnectionPool, type ConnectionPoolOptions, type PostgresSettings } from './connections/connection-pool.js';
import { Hosts, mayWrite, type PostgresClient, READS } from './connections/postgres-client.js';
import {
  explained,
  isConflict,
  isConnectionFailure,
  isOfServer,
  isTimeout,
  outcomeUnknown,
  startError,
} from './postgres-errors.js';
import { portable, PostgresQueryRunner } from './postgres-query-runner.js';
import { beginning, postgresSql, PostgresTransaction, type TransactionLimits } from './postgres-transaction.js';

/** Attempts of a transaction that the server undid in a conflict, or whose connection broke before COMMIT. */
const ATTEMPTS = 5;

/** Milliseconds that the server waits longer than the client for the next statement of a list. */
const IDLE_GRACE = 1000;

/** Milliseconds that the client waits longer than the server, because the server's error says more. */
const STATEMENT_GRACE = 1000;

/** Milliseconds that a check waits for its response. */
const CHECK_TIMEOUT = 2000;

const FRACTION = /^'(\d+\.\d+)'$/;

/** Defaults that PostgreSQL reports without quotes, by the type of their column. */
const UNQUOTED: Readonly<Record<string, RegExp>> = {
  ...{ numeric: FRACTION, 'double precision': FRACTION, real: FRACTION },
  boolean: /^'(true|false)'$/,
};

const IS_READ_ONLY = `SELECT current_setting('transaction_read_only')::boolean AS read_only`;

/**
 * TypeORM's PostgreSQL driver with connections and errors of this service. The first statement of a transaction locks
 * the rows that must not change. Every transaction locks the record before the `storage` row, to prevent deadlocks.
 */
export class PostgresDriver extends TypeOrmPostgresDriver implements Engine {
  readonly dialect: Dialect = {
    json: (expression) => `to_json(${expression})::text`,
    jsonReal: (expression) => `to_json(${expression})`,
    decimal: (expression) => `CAST(${expression} AS text)`,
    day: (expression) => `to_char(${expression}, 'YYYY-MM-DD')`,
    isoDate: (expression) => `to_char(${expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    // The cast has a text for `infinity`, too; `to_char` has none.
    exactDate: (expression) => `CAST(${expression} AT TIME ZONE 'UTC' AS text)`,
    dateOfExact: (expression) => `CAST(${expression} AS timestamp) AT TIME ZONE 'UTC'`,
    join: (expression, column, direction) => `string_agg(${expression}, '' ORDER BY ${column} ${direction})`,
    // Unlike FOR UPDATE, it does not stop inserts of rows that refer to the record; they would deadlock with an update.
    forUpdate: (table) => ` FOR NO KEY UPDATE OF ${table}`,
    forReference: (table) => ` FOR KEY SHARE OF ${table}`,
    // PostgreSQL calls these functions once for each row and uses no index, unless they are in a subquery.
    now: '(SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint))',
    deferReferences: 'SET CONSTRAINTS ALL DEFERRED',
    lastGivenId: (table) =>
      `(SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass), 0))`,
  };
  readonly advanceIdSequence = advanceIdSequence;

  readonly statementLimits = { scannedRows: Infinity, jsonBytes: Infinity, firstRecords: Infinity };
  readonly batchedReads = { maxBatchSize: 500, isOneOf: (column: string) => `${column} = ANY(?)` };
  readonly hosts = new Hosts(this.settings.hosts);
  readonly busyTimeout = this.settings.busyTimeout;
  readonly limits: TransactionLimits = {
    statement: this.settings.statementTimeout,
    lock: this.busyTimeout,
    idle: this.settings.transactionTimeout,
  };
  private pools = {} as Record<'ordinary' | 'lists' | 'checks', ConnectionPool>;

  constructor(
    dataSource: DataSource,
    private readonly settings: PostgresSettings,
  ) {
    super(dataSource);
  }

  /** The default as PostgreSQL reports it, because TypeORM compares the two as text. */
  override normalizeDefault(column: ColumnMetadata): string | undefined {
    const value = super.normalizeDefault(column);
    const quoted = UNQUOTED[this.normalizeType(column)];
    return quoted === undefined ? value : value?.replace(quoted, '$1');
  }

  /** @throws {DatabaseStartError} with the server and the reason */
  override async connect(): Promise<void> {
    try {
      await super.connect();
      await this.expectUtf8();
      await this.expectOneSchema();
    } catch (error) {
      await this.disconnect();
      throw startError(this.hosts.toString(), error);
    }
  }

  protected override createPool(): Promise<Pool> {
    const { poolSize, listPoolSize, statementTimeout } = this.settings;
    const queryTimeout = statementTimeout + STATEMENT_GRACE;
    const make = (options: ConnectionPoolOptions): ConnectionPool =>
      new ConnectionPool(this.settings, this.hosts, options);
    const ordinary = make({ name: 'requests', max: poolSize, queryTimeout });
    this.pools = {
      ordinary,
      lists: make({ name: 'lists', max: listPoolSize, queryTimeout, fallback: ordinary }),
      checks: make({ name: 'checks', max: 1, queryTimeout: CHECK_TIMEOUT, fallback: ordinary }),
    };
    return Promise.resolve(ordinary.pool);
  }

  override async disconnect(): Promise<void> {
    // Forgotten query runners would keep the pool open.
    for (const runner of [...this.connectedQueryRunners]) await runner.release();
    await Promise.all(Object.values(this.pools).map((pool) => pool.close()));
    this.master = undefined;
  }

  get connections(): ConnectionUsage[] {
    return Object.values(this.pools).map(({ usage }) => usage);
  }

  explain(error: unknown): unknown {
    return isOfServer(error) ? startError(this.hosts.toString(), error) : error;
  }

  /** A read is repeated if its connection breaks. */
  readonly committed: Sql = postgresSql((sql, parameters) => {
    const run = (): Promise<unknown[]> => this.runOnce(this.pools.ordinary, sql, parameters);
    return READS.test(sql) ? repeatRead(run) : run();
  });

  readonly probes: Sql = postgresSql((sql, parameters) =>
    repeatRead(() => this.runOnce(this.pools.checks, sql, parameters)),
  );

  async transaction<T>(work: (transaction: Sql) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.busyTimeout;
    for (let attempt = 1; ; attempt++) {
      const transaction = new PostgresTransaction(this.pools.ordinary);
      try {
        await transaction.begin(beginning('BEGIN ISOLATION LEVEL READ COMMITTED', this.limits));
        const result = await work(postgresSql(transaction.run));
        await transaction.commit();
        return result;
      } catch (error) {
        await transaction.rollback();
        const again = attempt < ATTEMPTS && performance.now() < deadline && mayRepeat(transaction.failure);
        if (!again) throw error;
      }
      // A random pause, so that two transactions in conflict do not start again at the same moment.
      await sleep(attempt * 10 * Math.random());
    }
  }

  async openSnapshot(): Promise<Snapshot> {
    const limits = { ...this.limits, idle: this.settings.listTimeout + IDLE_GRACE };
    const transaction = new PostgresTransaction(this.pools.lists);
    await transaction.begin(beginning('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', limits));
    return Object.assign(postgresSql(transaction.run), { close: () => void transaction.rollback() });
  }

  async check(): Promise<void> {
    await repeatRead(() => this.runOnce(this.pools.checks, IS_READ_ONLY, [], expectWritable));
  }

  override async obtainMasterConnection(): Promise<[PostgresClient, () => void]> {
    const { ordinary } = this.pools;
    const client = await ordinary.take();
    return [client, () => void ordinary.giveBack(client)];
  }

  override createQueryRunner(mode: ReplicationMode): PostgresQueryRunner {
    return new PostgresQueryRunner(this, mode);
  }

  /**
   * Leaves a boolean to PostgreSQL: TypeORM would store false for `1` and `'true'` if the type is the class Boolean.
   * Reads a text as `Date` does: TypeORM would read a day in the zone of the process, and `.5` seconds as 5 ms.
   */
  override preparePersistentValue(value: unknown, column: ColumnMetadata): unknown {
    if (column.transformer !== undefined) return super.preparePersistentValue(value, column);
    if (column.type === Boolean) return value;
    const prepared: unknown = super.preparePersistentValue(value, column);
    return typeof value === 'string' && prepared instanceof Date ? new Date(value) : prepared;
  }

  override normalizeType(column: Parameters<TypeOrmPostgresDriver['normalizeType']>[0]): string {
    return portable(super.normalizeType(column));
  }

  /** Rejects encodings other than UTF-8, because they cannot store all strings. */
  private async expectUtf8(): Promise<void> {
    const [row] = await this.committed.sql<[{ server_encoding: string }]>`SHOW server_encoding`;
    if (row.server_encoding === 'UTF8') return;
    throw new Error(
      `the database ${this.settings.database} is encoded in ${row.server_encoding}; make one with ENCODING 'UTF8'`,
    );
  }

  /**
   * Rejects a search path without a schema, or with an empty schema before that of the tables, such as a new one with
   * the user's name. Another application may have a table `storage`, but without an epoch.
   */
  private async expectOneSchema(): Promise<void> {
    const [current] = await this.committed.sql<[{ path: string; schema: string | null }]>`
      SELECT current_setting('search_path') AS path, current_schema() AS schema`;
    if (current.schema === null) {
      throw new Error(
        `the user may use no schema of its search_path (${current.path}); create one of them, with CREATE SCHEMA, or ` +
          'grant USAGE and CREATE on it',
      );
    }
    const [row] = await this.committed.sql<{ found: string; used: string }[]>`
      SELECT nspname AS found, current_schema() AS used FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'epoch'
      WHERE pg_class.oid = to_regclass('storage') AND nspname <> current_schema()`;
    if (row === undefined) return;
    const choose = (schema: string): string => `ALTER ROLE CURRENT_USER SET search_path = "${schema}"`;
    throw new Error(
      `its tables are in the schema ${row.found}, but new ones would be in ${row.used}, which is before it in search_path ` +
        `and lacks them; to use the tables, run ${choose(row.found)}, or drop ${row.used}; for new tables, ${choose(row.used)}`,
    );
  }

  /** @param expect throws an error if the rows show that the connection is not usable */
  private async runOnce(
    pool: ConnectionPool,
    sql: string,
    parameters: unknown[],
    expect?: (rows: unknown[], client: PostgresClient) => void,
  ): Promise<unknown[]> {
    const client = await pool.take();
    try {
      const { rows } = await client.query<object>(sql, parameters);
      expect?.(rows, client);
      return rows;
    } catch (error) {
      throw (mayWrite(sql) && outcomeUnknown(error)) || explained(error, sql, parameters);
    } finally {
      void pool.giveBack(client);
    }
  }
}

function expectWritable([row]: unknown[], client: PostgresClient): void {
  if (!(row as { read_only: boolean }).read_only) return;
  client.failure = Object.assign(new Error('The server is read-only'), { code: '25006' });
  throw client.failure;
}

function mayRepeat(cause: unknown): boolean {
  return isConflict(cause) || (isConnectionFailure(cause) && !isTimeout(cause));
}

/**
 * A sequence does not roll back, but skipped ids do no harm. Does nothing for a column without a sequence.
 * @param table as an SQL name, quoted if necessary
 */
export async function advanceIdSequence(transaction: Sql, table: string, id: number, column = 'id'): Promise<void> {
  await transaction.sql`
    SELECT setval(name::regclass, ${id}::bigint) FROM pg_get_serial_sequence(${table}, ${column}) AS name
    WHERE coalesce(pg_sequence_last_value(name::regclass), 0) < ${id}::bigint`;
}
