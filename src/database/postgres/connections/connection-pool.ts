import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Config } from '../../../config/config.js';
import type { PostgresUrl } from '../../../config/postgres-url.js';
import { SERVICE_NAME } from '../../../config/service-name.js';
import { Outage } from '../../../logging/outage.js';
import { DatabaseUnavailableError } from '../../errors.js';
import { type Waiter, WaitQueue } from '../../wait-queue.js';
import type { Hosts } from './hosts.js';
import { PostgresClient, type PostgresClientConfig } from './postgres-client.js';
import {
  isConnectionFailure,
  isReadOnlyServer,
  isServerFull,
  isTimeout,
  publishEngineError,
} from '../postgres-errors.js';
import { tlsOf } from './tls.js';

export type PostgresSettings = PostgresUrl & Config['database'] & Pick<Config, 'listTimeout'>;

export interface ConnectionPoolOptions {
  /** The most connections. */
  readonly max: number;
  /** Milliseconds this side waits for the response to a statement. */
  readonly queryTimeout: number;
  /** Called when the server has no free slot for even one connection: others of this process may give one up. */
  readonly onStarved: () => void;
}

/** Milliseconds one host may take to accept a connection; less where several share the busy time-out. */
const CONNECT_TIMEOUT = 2000;

/** Milliseconds after which a server that had no slot for a connection is asked for one more. */
const GROWTH_PAUSE = 1000;
/** The same where there is none at all. */
const STARVED_PAUSE = 200;

interface ConnectionWaiter extends Waiter {
  readonly resolve: (client: PostgresClient) => void;
}

type Pooled = PostgresClient & pg.PoolClient;

/**
 * A pool of connections to the primary. A caller takes a connection and gives it back with what went wrong on it. A waiting caller is
 * not tied to one that is being made: where the server has no slot for more, the existing ones serve all callers in turn.
 */
export class ConnectionPool {
  readonly pool: pg.Pool;
  private readonly logger = new Logger('Database');
  /** All idle connections fail together when their server goes. */
  private readonly idleFailures = new Outage<string>({
    interval: 10_000,
    onStart: (message) => this.logger.warn(`An idle connection to the database failed: ${message}`),
    onRepeat: (repeats) => this.logger.warn(`${repeats} more idle connections to the database failed`),
  });
  private readonly waiting: WaitQueue<ConnectionWaiter>;
  /** Those that callers hold, and those that are being fetched for them. */
  private taken = 0;
  /** The most that the server has slots for, as far as is known; grows back to `max` one at a time. */
  private limit: number;
  private growth?: NodeJS.Timeout;
  /** Whether the server is not to be asked for another connection before the next growth. */
  private isPaused = false;
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
      // Not taken from the environment or from ~/.pgpass: all that counts is in the configuration.
      password: settings.password ?? '',
      database: settings.database,
      ssl: tlsOf(settings),
      application_name: SERVICE_NAME,
      max: options.max,
      query_timeout: options.queryTimeout,
      connectTimeout: Math.max(1, Math.min(CONNECT_TIMEOUT, Math.floor(busyTimeout / hosts.count))),
      idleTimeoutMillis: 30_000,
      // Behind a name that moves from server to server, no connection stays at the old one for ever.
      maxLifetimeSeconds: 1800,
      keepAlive: true,
    };
    this.limit = options.max;
    this.waiting = new WaitQueue(busyTimeout, () => {
      const message = `No connection to the database was free within ${busyTimeout} ms`;
      const isAway = this.pool.totalCount === 0 && isConnectionFailure(this.lastFailure);
      return new DatabaseUnavailableError(message, this.lastFailure, isAway ? 'away' : 'busy');
    });
    this.pool = new pg.Pool(Object.assign(config, { Client: PostgresClient, onConnect: this.expectPrimary }));
    this.pool.on('error', ({ message }) => this.idleFailures.report(message));
  }

  /** @throws {DatabaseUnavailableError} when none is free in time, or none can be made; its cause says why */
  take(): Promise<PostgresClient> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.serveNext();
    });
  }

  /**
   * Takes a connection back. The next caller gets it when the server has said that no transaction is open on it: its writes would
   * be part of that, and lost with it.
   * @param failure what went wrong on the connection, if anything did
   */
  giveBack(client: PostgresClient, failure?: unknown): void {
    const isBroken = isConnectionFailure(failure);
    if (isReadOnlyServer(failure)) this.hosts.failOver(client.target);
    // Where one broke, the others that were made before may lead to the same server that is gone.
    if (isBroken && !isTimeout(failure)) this.hosts.distrust(client.generation);
    const mustClose = client.mustClose || client.hasOwnState || isBroken || this.pool.totalCount > this.limit;
    if (mustClose || client.isIdle) this.release(client, mustClose);
    else void this.reset(client);
  }

  /** For one whose state is not known: it is closed. */
  discard(client: PostgresClient): void {
    this.release(client, true);
  }

  get size(): number {
    return this.pool.totalCount;
  }

  /** Gives up one connection, if it has more than one, so that the server has a slot for another pool. */
  giveUpOne(): void {
    if (this.pool.totalCount < 2) return;
    this.limit = this.pool.totalCount - 1;
    this.pause(GROWTH_PAUSE);
    // Else the next that is given back is closed.
    if (this.pool.idleCount > 0) void this.pool.connect().then((client) => client.release(true), ignored);
  }

  async close(): Promise<void> {
    this.idleFailures.close();
    clearTimeout(this.growth);
    this.waiting.rejectAll(new DatabaseUnavailableError('The connections to the database are closed'));
    await this.pool.end();
    clearTimeout(this.growth);
  }

  /** Fetches a connection for the caller that waits longest, unless as many as may be are taken. */
  private serveNext(): void {
    if (this.waiting.size === 0 || this.taken >= this.limit) return;
    if (this.isPaused && this.pool.idleCount === 0) return;
    this.taken++;
    void this.connect().then(
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
    this.waiting.shift()?.reject(new DatabaseUnavailableError('The database cannot be reached', error, 'away'));
    this.serveNext();
  }

  /** Waiting callers get a connection that is given back; the server is asked for another only after a pause. */
  private serverFull(): void {
    const { totalCount } = this.pool;
    this.limit = Math.max(1, totalCount);
    this.pause(totalCount > 0 ? GROWTH_PAUSE : STARVED_PAUSE);
    if (totalCount === 0) this.options.onStarved();
  }

  private pause(milliseconds: number): void {
    this.isPaused = true;
    clearTimeout(this.growth);
    this.growth = setTimeout(() => {
      this.isPaused = false;
      this.limit = Math.min(this.limit + 1, this.options.max);
      this.serveNext();
      // Unless the server is asked and rejects it, which pauses again, the next may be tried then.
      if (this.limit < this.options.max) this.pause(GROWTH_PAUSE);
    }, milliseconds).unref();
  }

  /** From each host in turn. A connection of an earlier generation may lead to a server that is gone, or a standby now. */
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
          // Others have led to it, so it is the primary.
          if (this.pool.totalCount > 0) throw error;
          this.hosts.failOver(current);
        }
        // Any other failure has turned `hosts` to the next one.
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

  /** Of several servers, only one may be written. */
  private readonly expectPrimary = async (client: PostgresClient): Promise<void> => {
    if (this.hosts.count === 1) return;
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
    if (rows[0]?.transaction_read_only === 'off') return;
    this.hosts.failOver(client.target);
    throw Object.assign(new Error('The server is a standby'), { code: '25006' });
  };
}

const ignored = (): void => undefined;

/** Characters of a statement that the log shows. */
const SHOWN = 300;

function leftOpen({ first, last }: NonNullable<PostgresClient['openTransaction']>): string {
  return (
    'A query runner was released inside an open transaction, which was rolled back. ' +
    `It began with: ${first.slice(0, SHOWN)} -- its last statement: ${last.slice(0, SHOWN)}`
  );
}
