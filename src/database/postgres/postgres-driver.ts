import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, ReplicationMode } from 'typeorm';
import { PostgresDriver as TypeOrmPostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { Dialect, Engine } from '../engine.js';
import { DatabaseUnavailableError } from '../errors.js';
import type { Snapshot } from '../snapshot.js';
import type { Sql } from '../sql.js';
import { Connections, type PostgresSettings } from './connections.js';
import { Hosts } from './hosts.js';
import { portable } from './portable-columns.js';
import { explained, isConflict, isConnectionFailure, isOfServer, isSilence, startError } from './postgres-errors.js';
import { PostgresQueryRunner } from './postgres-query-runner.js';
import { execute, PostgresSql, READS, type SlowStatements } from './postgres-sql.js';
import { beginning, PostgresTransaction, type TransactionLimits } from './postgres-transaction.js';

/** How often a transaction is run when the server undoes it for the sake of another, or its connection breaks before COMMIT. */
const ATTEMPTS = 5;

/** Milliseconds in which a client must read something of a list (`json-array.ts` says 30 s), and some more. */
const SNAPSHOT_IDLE = 60_000;

/**
 * TypeORM's PostgreSQL driver on our own connections, with the errors of this service, and the engine of the paths that every
 * request takes. Transactions are READ COMMITTED: what must not change between two statements of one is locked by the first
 * (`FOR UPDATE`, or the UPDATE of the resource's `storage` row), and then read as last committed. In every transaction the
 * record is locked before the `storage` row, so two of them never wait for each other.
 */
export class PostgresDriver extends TypeOrmPostgresDriver implements Engine {
  readonly dialect: Dialect = {
    json: (expression) => `to_json(${expression})::text`,
    forUpdate: (table) => ` FOR UPDATE OF ${table}`,
  };

  readonly isRemote = true;
  readonly hosts: Hosts;
  private connections!: Connections;
  /** Apart, so that slow readers of lists keep nobody from anything else. */
  private listConnections!: Connections;

  constructor(
    dataSource: DataSource,
    private readonly settings: PostgresSettings,
  ) {
    super(dataSource);
    this.hosts = new Hosts(settings.hosts);
  }

  /** @throws {DatabaseStartError} naming the server and what is wrong */
  override async connect(): Promise<void> {
    this.connections = new Connections(this.settings, this.hosts, this.settings.poolSize);
    this.listConnections = new Connections(this.settings, this.hosts, this.settings.listPoolSize);
    this.master = this.connections.pool;
    try {
      // TypeORM's own `connect` makes a pool; what it asks the server afterwards is asked here.
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
    // Query runners that somebody has forgotten would be waited for.
    for (const runner of [...this.connectedQueryRunners]) await runner.release();
    await Promise.all([this.connections.close(), this.listConnections.close()]);
    this.master = undefined;
  }

  explain(error: unknown): unknown {
    return isOfServer(error) ? startError(this.hosts.toString(), error) : error;
  }

  readonly committed: Sql = new PostgresSql((sql, parameters) => this.read(sql, parameters));

  async transaction<T>(work: (transaction: Sql) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const [result, failure] = await this.attempt(work);
      if (failure === undefined) return result as T;
      const again = attempt < ATTEMPTS && mayRepeat(failure.cause);
      if (!again) throw failure.error;
      // Two that undid each other would meet again if both came back at once.
      await sleep(attempt * 10 * Math.random());
    }
  }

  async openSnapshot(): Promise<Snapshot> {
    const limits = { ...this.limits, idle: SNAPSHOT_IDLE };
    const begin = beginning('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', limits);
    try {
      const transaction = await PostgresTransaction.begin(this.listConnections, begin, this.slow);
      return Object.assign(new PostgresSql(transaction.run), { close: () => void transaction.rollback() });
    } catch (error) {
      throw explained(error, begin, []);
    }
  }

  async check(): Promise<void> {
    const [row] = await this.committed.sql<{ read_only: boolean }[]>`
      SELECT current_setting('transaction_read_only')::boolean AS read_only`;
    if (row?.read_only) throw new DatabaseUnavailableError('the server is read-only, a standby perhaps');
  }

  /** A connection for a query runner of TypeORM. */
  override async obtainMasterConnection(): Promise<[unknown, (failure?: unknown) => void]> {
    const client = await this.connections.take();
    return [client, (failure) => this.connections.giveBack(client, failure)];
  }

  override createQueryRunner(mode: ReplicationMode): PostgresQueryRunner {
    return new PostgresQueryRunner(this, mode);
  }

  override normalizeType(column: Parameters<TypeOrmPostgresDriver['normalizeType']>[0]): string {
    return portable(super.normalizeType(column));
  }

  get limits(): TransactionLimits {
    const { statementTimeout, busyTimeout, transactionTimeout } = this.settings;
    return { statement: statementTimeout, lock: busyTimeout, idle: transactionTimeout };
  }

  get slow(): SlowStatements {
    const { maxQueryExecutionTime: limit = Infinity } = this.options;
    const { logger } = this.dataSource;
    return { limit, report: (milliseconds, sql) => void logger.logQuerySlow(Math.round(milliseconds), sql) };
  }

  /** In any other encoding, the server would refuse most of what a wish may hold. */
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
      const { transactionTimeout } = this.settings;
      transaction = await PostgresTransaction.begin(this.connections, begin, this.slow, transactionTimeout);
    } catch (error) {
      return [undefined, { error: explained(error, begin, []), cause: error }];
    }
    let result: T;
    try {
      result = await work(new PostgresSql(transaction.run));
    } catch (error) {
      await transaction.rollback();
      return [undefined, { error, cause: transaction.cause }];
    }
    await transaction.commit();
    return [result];
  }

  /** What only reads is repeated when its connection breaks: a pooled one may be of a server that is gone. */
  private async read(sql: string, parameters: unknown[]): Promise<unknown[]> {
    for (let attempt = 1; ; attempt++) {
      const client = await this.connections.take();
      try {
        const { rows } = await execute(client, sql, parameters, this.slow);
        this.connections.giveBack(client);
        return rows;
      } catch (error) {
        this.connections.giveBack(client, error);
        if (attempt < ATTEMPTS && READS.test(sql) && isConnectionFailure(error) && !isSilence(error)) continue;
        throw explained(error, sql, parameters);
      }
    }
  }
}

interface Failure {
  /** For the caller. */
  readonly error: unknown;
  /** As node-postgres has thrown it, if it has. */
  readonly cause: unknown;
}

function mayRepeat(cause: unknown): boolean {
  return isConflict(cause) || (isConnectionFailure(cause) && !isSilence(cause));
}
