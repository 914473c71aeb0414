import pg from 'pg';
import type { Config } from '../../../config/config.js';
import type { PostgresUrl } from '../../../config/postgres-url.js';
import { SERVICE_NAME } from '../../../config/service-name.js';
import type { ConnectionUsage } from '../../engine.js';
import { DatabaseUnavailableError } from '../../errors.js';
import { MOST_WAITING, tooManyWaiting } from '../../wait-queue.js';
import { type Hosts, PostgresClient, type PostgresClientConfig, tlsOf } from './postgres-client.js';
import {
  isConnectionFailure,
  isReadOnlyServer,
  isServerFull,
  isTimeout,
  publishEngineError,
} from '../postgres-errors.js';

export type PostgresSettings = PostgresUrl & Config['database'] & Pick<Config, 'listTimeout'>;

export interface ConnectionPoolOptions {
  readonly name: string;
  readonly max: number;
  /** Milliseconds that the client waits for the response to a statement. */
  readonly queryTimeout: number;
  /** Serves the callers of this pool while it has no connection and the server has no free slot for one. */
  readonly fallback?: ConnectionPool;
}

/** Maximum milliseconds for a host to accept a connection; less if several hosts share a short busy time-out. */
const CONNECT_TIMEOUT = 2000;

/** Milliseconds until the pool asks a server that accepted no more connections for another one. */
const FULL_PAUSE = 1000;

/** The error of `pg.Pool` for a caller that has waited for longer than `connectionTimeoutMillis`. */
const NONE_FREE = 'timeout exceeded when trying to connect';

/**
 * A session has the formats that `pg` can parse, the warning about a commit that a standby has not confirmed, commits
 * that wait for the disk, and triggers that fire. PgBouncer keeps the first two (`track_extra_parameters`). A server on
 * Linux ends a session whose client has gone: while it waits for a lock, it would keep its slot of the server.
 */
const SESSION =
  'SET datestyle = ISO; SET intervalstyle = postgres; SET extra_float_digits = 1; SET client_min_messages = warning; ' +
  `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'; ` +
  `SELECT set_config('session_replication_role', 'origin', false) WHERE current_setting('session_replication_role') <> 'origin'; ` +
  `SELECT set_config('client_connection_check_interval', '1000', false) WHERE version() LIKE '%linux%'`;

/** The timeline of the server, which a promotion of a standby changes. */
const TIMELINE = 'SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline';
const RENEW_EPOCHS = 'UPDATE storage SET epoch = substr(md5(random()::text), 1, length(epoch))';

type Pooled = PostgresClient & pg.PoolClient;

/** Connections to the primary server. If it accepts no more of them, the existing ones serve all callers in turn. */
export class ConnectionPool {
  readonly pool: pg.Pool;
  private readonly connectTimeout: number;
  private connecting = 0;
  /** Set while the pool has a lower limit, because the server accepted no further connection. */
  private growth?: NodeJS.Timeout;

  constructor(
    private readonly settings: PostgresSettings,
    readonly hosts: Hosts,
    private readonly options: ConnectionPoolOptions,
  ) {
    this.connectTimeout = Math.max(1, Math.min(CONNECT_TIMEOUT, Math.floor(settings.busyTimeout / hosts.count)));
    const config: PostgresClientConfig & pg.PoolConfig = {
      hosts,
      user: settings.user,
      // Without a password, `pg` reads PGPASSWORD; `undefined` would also let it read ~/.pgpass, with a warning.
      password: settings.password ?? '',
      database: settings.database,
      ssl: tlsOf(settings),
      application_name: SERVICE_NAME,
      max: options.max,
      query_timeout: options.queryTimeout,
      connectTimeout: this.connectTimeout,
      onConnecting: () => this.connecting++,
      onConnected: (error) => {
        this.connecting--;
        // `totalCount` still includes the connection that failed.
        if (isServerFull(error) || (error && this.mayWait(error, this.connected - 1))) this.stopGrowth();
      },
      connectionTimeoutMillis: settings.busyTimeout,
      idleTimeoutMillis: 30_000,
      // A host name may move to another server, so connections are replaced after half an hour.
      maxLifetimeSeconds: 1800,
      keepAlive: true,
    };
    this.pool = new pg.Pool(Object.assign(config, { Client: PostgresClient, onConnect: this.prepareSession }));
    // The pool removes an idle connection that breaks. Without a listener, the event would also end the process.
    this.pool.on('error', () => undefined);
  }

  /** @throws {DatabaseUnavailableError} when no connection is free in time or can be made */
  async take(): Promise<PostgresClient> {
    const { fallback } = this.options;
    const isStarved = this.growth !== undefined && this.connected === 0;
    if (isStarved && fallback !== undefined) return fallback.take();
    if (this.pool.waitingCount >= MOST_WAITING) throw tooManyWaiting();
    try {
      const client = await this.connect();
      client.isTaken = true;
      return client;
    } catch (error) {
      if (isServerFull(error) && fallback !== undefined) return fallback.take();
      if ((error as Error).message !== NONE_FREE) {
        throw new DatabaseUnavailableError('No connection can be opened', error, 'unreachable');
      }
      const message = `No connection to the database was free within ${this.settings.busyTimeout} ms`;
      throw new DatabaseUnavailableError(message, error);
    }
  }

  /** The next caller gets the connection after the server has reported that no transaction is open on it. */
  async giveBack(client: PostgresClient): Promise<void> {
    if (!client.isTaken) return;
    client.isTaken = false;
    const { failure } = client;
    const isBroken = isConnectionFailure(failure);
    if (isReadOnlyServer(failure)) this.hosts.failOver(client.target);
    // Other connections that were made before may lead to the same stopped server.
    if (isBroken && !isTimeout(failure)) this.hosts.distrust(client.generation);
    let mustClose = client.mustClose || isBroken;
    if (!mustClose && !client.isIdle) {
      // An empty statement waits for those in flight.
      const reset = client.query({ text: client.isInTransaction ? 'ROLLBACK' : '' });
      mustClose = await reset.then(
        () => client.isInTransaction,
        () => true,
      );
    }
    (client as Pooled).release(mustClose);
  }

  /** Number of open connections. `pool.totalCount` also has those that are being made. */
  private get connected(): number {
    return this.pool.totalCount - this.connecting;
  }

  get usage(): ConnectionUsage {
    const { totalCount, idleCount, waitingCount, options } = this.pool;
    // The pool passes an idle connection on in the next tick: a scrape would count its own queries as waiting.
    const waiting = Math.max(0, waitingCount - idleCount);
    return { pool: this.options.name, used: totalCount - idleCount, limit: options.max, waiting };
  }

  async close(): Promise<void> {
    this.endGrowth();
    await this.pool.end();
  }

  /**
   * Tells whether callers wait for one of the `connected` connections when no further one can be opened: the only host
   * may be slow, or have a new password. Of several hosts, another one is tried first.
   */
  private mayWait(error: unknown, connected = this.connected): boolean {
    return connected > 0 && (this.hosts.count === 1 || isServerFull(error));
  }

  /** Tries each host in turn. A connection of an earlier generation may lead to a stopped server or a standby. */
  private async connect(): Promise<PostgresClient> {
    const deadline = performance.now() + this.settings.busyTimeout;
    for (let failures = 0; ;) {
      const { current } = this.hosts;
      try {
        const client = (await this.pool.connect()) as Pooled;
        if (client.generation === this.hosts.generation) return client;
        client.release(true);
      } catch (error) {
        if ((error as Error).message === NONE_FREE) throw error;
        publishEngineError(error);
        // The server is the primary: only the primary accepts connections of this pool.
        if (this.mayWait(error) && performance.now() < deadline) continue;
        this.hosts.failOver(current);
        if (++failures >= this.hosts.count) throw error;
      }
    }
  }

  /** Lets callers wait for one of the existing connections, while the pool asks the server for one more each second. */
  private stopGrowth(): void {
    const limits = this.pool.options;
    // `totalCount` still includes the rejected connection.
    limits.max = Math.max(1, this.pool.totalCount - 1);
    this.growth ??= setInterval(() => {
      limits.max = Math.min(limits.max + 1, this.options.max);
      if (limits.max === this.options.max) this.endGrowth();
    }, FULL_PAUSE).unref();
  }

  private endGrowth(): void {
    clearInterval(this.growth);
    this.growth = undefined;
  }

  /** Prepares a session, and rejects a server that is not the primary, because only that accepts writes. */
  private readonly prepareSession = async (client: PostgresClient): Promise<void> => {
    // The server ends a forgotten transaction and its session, but the place in the pool would stay taken.
    client.once('end', () => void this.giveBack(client));
    const results = await this.send(client, `${SESSION}; SHOW transaction_read_only`);
    const [row] = results.at(-1)!.rows as { transaction_read_only: string }[];
    if (row?.transaction_read_only === 'off') await this.renewEpochs(client);
    if (this.hosts.count === 1 || row?.transaction_read_only === 'off') return this.hosts.serve(client.target);
    this.hosts.failOver(client.target);
    throw Object.assign(new Error('The server is a standby'), { code: '25006' });
  };

  /**
   * Renews the epochs if a standby was promoted since the last connection. A standby that was not synchronous lacks the
   * last changes, and would assign their ETags again: lists with lost records would come from the cache.
   */
  private async renewEpochs(client: PostgresClient): Promise<void> {
    try {
      const [result] = await this.send(client, TIMELINE);
      const [{ timeline }] = result!.rows as [{ timeline: string }];
      if (timeline === this.hosts.timeline) return;
      if (this.hosts.timeline !== undefined) await this.send(client, RENEW_EPOCHS);
      this.hosts.timeline = timeline;
    } catch (error) {
      if (isConnectionFailure(error)) throw error;
      // Some managed servers lack these functions. The next connection tries again.
    }
  }

  /** Sends statements of the pool itself. Returns the result of each. */
  private async send(client: PostgresClient, text: string): Promise<pg.QueryResult[]> {
    const statements = { text, query_timeout: this.connectTimeout };
    return [(await client.query(statements)) as unknown as pg.QueryResult[]].flat();
  }
}
