import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Config } from '../../../config/config.js';
import type { PostgresUrl } from '../../../config/postgres-url.js';
import { SERVICE_NAME } from '../../../config/service-name.js';
import { Outage } from '../../../logging/outage.js';
import type { ConnectionUsage } from '../../engine.js';
import { DatabaseUnavailableError } from '../../errors.js';
import { type Waiter, WaitQueue } from '../../wait-queue.js';
import { type Hosts, PostgresClient, type PostgresClientConfig, tlsOf } from './postgres-client.js';
import {
  isConnectionFailure,
  isReadOnlyServer,
  isServerFull,
  isTimeout,
  publishEngineError,
} from '../postgres-errors.js';

export type PostgresSettings = PostgresUrl & Config['database'] & Pick<Config, 'listTimeout'>;

interface ConnectionPoolOptions {
  /** Name in the metrics. */
  readonly name: string;
  /** Maximum number of connections. */
  readonly max: number;
  /** Milliseconds that the client waits for the response to a statement. */
  readonly queryTimeout: number;
  /** Called when the server has no free slot and this pool has no connection, so that another pool gives one up. */
  readonly onStarved: () => void;
}

/** Maximum milliseconds for a host to accept a connection; less if several hosts share a short busy time-out. */
const CONNECT_TIMEOUT = 2000;

/** Milliseconds until the pool asks a server without free slots for one more connection. */
const GROWTH_PAUSE = 1000;
/** Milliseconds until the next attempt of a pool without any connection. */
const STARVED_PAUSE = 200;

interface ConnectionWaiter extends Waiter {
  readonly resolve: (client: PostgresClient) => void;
}

/**
 * The formats that `pg` can parse. Server, database and role may have other defaults. PgBouncer keeps the first two
 * (https://www.pgbouncer.org/config.html, `track_extra_parameters`).
 */
const FORMATS = 'SET datestyle = ISO; SET intervalstyle = postgres; SET extra_float_digits = 1';

type Pooled = PostgresClient & pg.PoolClient;

/**
 * A pool of connections to the primary server. A caller takes a connection and gives it back with the failure it met.
 * If the server has no free slots, the existing connections serve all callers in turn.
 */
export class ConnectionPool {
  readonly pool: pg.Pool;
  private readonly logger = new Logger('Database');
  /** Reports idle connections that fail together when their server stops. */
  private readonly idleFailures = new Outage<string>({
    interval: 10_000,
    onStart: (message) => this.logger.warn(`An idle connection to the database failed: ${message}`),
    onRepeat: (repeats) => this.logger.warn(`${repeats} more idle connections to the database failed`),
  });
  private readonly waiting: WaitQueue<ConnectionWaiter>;
  /** Connections that callers hold or that are being fetched for them. */
  private taken = 0;
  /** Connections that are being fetched, each for a caller that waits. */
  private fetching = 0;
  /** Maximum number of connections that the server accepts, as far as known. It grows back to `max` one by one. */
  private limit: number;
  /** Set while the pool waits before it asks for another connection. */
  private growth?: NodeJS.Timeout;
  private lastFailure?: unknown;

  constructor(
    settings: PostgresSettings,
    readonly hosts: Hosts,
    private readonly options: ConnectionPoolOptions,
  ) {
    const { busyTimeout } = settings;
    const config: PostgresClientConfig & pg.PoolConfig = {
      hosts,
      user: settings.user,
      // Without a password, `pg` would read the environment and ~/.pgpass, which are not part of the configuration.
      password: settings.password ?? '',
      database: settings.database,
      ssl: tlsOf(settings),
      application_name: SERVICE_NAME,
      max: options.max,
      query_timeout: options.queryTimeout,
      connectTimeout: Math.max(1, Math.min(CONNECT_TIMEOUT, Math.floor(busyTimeout / hosts.count))),
      idleTimeoutMillis: 30_000,
      // A host name may move to another server, so connections are replaced after half an hour.
      maxLifetimeSeconds: 1800,
      keepAlive: true,
    };
    this.limit = options.max;
    this.waiting = new WaitQueue(busyTimeout, () => {
      const message = `No connection to the database was free within ${busyTimeout} ms`;
      const isUnreachable = this.pool.totalCount === 0 && isConnectionFailure(this.lastFailure);
      return new DatabaseUnavailableError(message, this.lastFailure, isUnreachable ? 'unreachable' : 'busy');
    });
    this.pool = new pg.Pool(Object.assign(config, { Client: PostgresClient, onConnect: this.prepareSession }));
    this.pool.on('error', ({ message }) => this.idleFailures.report(message));
  }

  /**
   * @throws {DatabaseUnavailableError} when no connection is free in time or can be made; its cause is the reason
   */
  take(): Promise<PostgresClient> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.serveNext();
    });
  }

  /**
   * Takes a connection back. The next caller gets it after the server has reported that no transaction is open on it.
   * @param failure the error that the caller met on the connection
   */
  giveBack(client: PostgresClient, failure?: unknown): void {
    const isBroken = isConnectionFailure(failure);
    if (isReadOnlyServer(failure)) this.hosts.failOver(client.target);
    // Other connections that were made before may lead to the same stopped server.
    if (isBroken && !isTimeout(failure)) this.hosts.distrust(client.generation);
    const mustClose = client.mustClose || client.hasOwnState || isBroken || this.pool.totalCount > this.limit;
    if (mustClose || client.isIdle) this.release(client, mustClose);
    else void this.reset(client);
  }

  get usage(): ConnectionUsage {
    const waiting = Math.max(0, this.waiting.size - this.fetching);
    return { pool: this.options.name, used: this.taken, limit: this.limit, waiting };
  }

  /** Gives up one connection if the pool has several, so that the server has a slot for another pool. */
  giveUpOne(): void {
    if (this.pool.totalCount < 2) return;
    this.limit = this.pool.totalCount - 1;
    this.pause(GROWTH_PAUSE);
    // If none is idle, the next connection that is given back is closed.
    if (this.pool.idleCount > 0) void this.pool.connect().then((client) => client.release(true), ignored);
  }

  async close(): Promise<void> {
    this.idleFailures.close();
    clearTimeout(this.growth);
    this.waiting.rejectAll(new DatabaseUnavailableError('The connections to the database are closed'));
    await this.pool.end();
    clearTimeout(this.growth);
  }

  /** Fetches a connection for the caller that has waited longest, unless the limit is reached. */
  private serveNext(): void {
    if (this.waiting.size === 0 || this.taken >= this.limit) return;
    if (this.growth !== undefined && this.pool.idleCount === 0) return;
    this.taken++;
    this.fetching++;
    void this.connect()
      .finally(() => this.fetching--)
      .then(
        (client) => this.serve(client),
        (error: unknown) => this.connectFailed(error),
      );
  }

  private serve(client: PostgresClient): void {
    this.lastFailure = undefined;
    const waiter = this.waiting.shift();
    if (waiter === undefined) this.release(client, false);
    else waiter.resolve(client);
  }

  private connectFailed(error: unknown): void {
    this.taken--;
    if (isServerFull(error)) return this.serverFull();
    this.waiting.shift()?.reject(new DatabaseUnavailableError('The database cannot be reached', error, 'unreachable'));
    this.serveNext();
  }

  /** Lets waiting callers use connections that are given back, and asks the server again after a pause. */
  private serverFull(): void {
    const { totalCount } = this.pool;
    this.limit = Math.max(1, totalCount);
    this.pause(totalCount > 0 ? GROWTH_PAUSE : STARVED_PAUSE);
    if (totalCount === 0) this.options.onStarved();
  }

  private pause(milliseconds: number): void {
    clearTimeout(this.growth);
    // Not `unref()`: at a start, nothing else may keep the process running while callers wait.
    this.growth = setTimeout(() => {
      this.growth = undefined;
      this.limit = Math.min(this.limit + 1, this.options.max);
      this.serveNext();
      // After the pause, one more connection is tried. A rejection starts another pause.
      if (this.limit < this.options.max) this.pause(GROWTH_PAUSE);
    }, milliseconds);
  }

  /** Tries each host in turn. A connection of an earlier generation may lead to a stopped server or a standby. */
  private async connect(): Promise<PostgresClient> {
    let full: unknown;
    for (let failures = 0; ;) {
      const { current } = this.hosts;
      try {
        const client = (await this.pool.connect()) as Pooled;
        if (client.generation === this.hosts.generation) return client;
        client.release(true);
      } catch (error) {
        failures++;
        this.lastFailure = error;
        publishEngineError(error);
        if (isServerFull(error)) {
          full = error;
          // The server is the primary: only the primary accepts connections of this pool.
          if (this.pool.totalCount > 0) throw error;
        }
        this.hosts.failOver(current);
        if (failures >= this.hosts.count) throw full ?? error;
      }
    }
  }

  private async reset(client: PostgresClient): Promise<void> {
    const isIdle = await client.reset(this.options.queryTimeout).catch(() => false);
    const { openTransaction } = client;
    if (openTransaction !== undefined) this.logger.warn(leftOpen(openTransaction));
    client.openTransaction = undefined;
    this.release(client, !isIdle || this.pool.totalCount > this.limit);
  }

  private release(client: PostgresClient, mustClose: boolean): void {
    (client as Pooled).release(mustClose);
    this.taken--;
    this.serveNext();
  }

  /** Sets the formats of a session, and rejects a server that is not the primary, because only that accepts writes. */
  private readonly prepareSession = async (client: PostgresClient): Promise<void> => {
    const results = (await client.query(`${FORMATS}; SHOW transaction_read_only`)) as unknown as pg.QueryResult[];
    const [row] = results.at(-1)!.rows as { transaction_read_only: string }[];
    if (this.hosts.count === 1 || row?.transaction_read_only === 'off') return;
    this.hosts.failOver(client.target);
    throw Object.assign(new Error('The server is a standby'), { code: '25006' });
  };
}

const ignored = (): void => undefined;

/** Maximum characters of a statement in the log. */
const SHOWN = 300;

function leftOpen({ first, last }: NonNullable<PostgresClient['openTransaction']>): string {
  return (
    'A query runner was released inside an open transaction, which was rolled back. ' +
    `It began with: ${first.slice(0, SHOWN)} -- its last statement: ${last.slice(0, SHOWN)}`
  );
}
