import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Config } from '../../config/config.js';
import type { PostgresUrl } from '../../config/postgres-url.js';
import { Episode } from '../../logging/episode.js';
import { DatabaseUnavailableError } from '../errors.js';
import { Hosts } from './hosts.js';
import { PostgresClient, type PostgresClientConfig } from './postgres-client.js';
import { isConnectionFailure, isPoolTimeout, isReadOnlyServer, publishEngineError } from './postgres-errors.js';

export type PostgresSettings = PostgresUrl & Config['database'];

/** Milliseconds by which this side waits longer than the server, whose own report says more. */
const GRACE = 1000;

const INT8 = 20;

/** A pool of connections to the primary. Whoever takes a connection gives it back with what went wrong on it. */
export class Connections {
  readonly pool: pg.Pool;
  private readonly logger = new Logger('Database');
  /** All idle connections fail together when their server goes. */
  private readonly idleFailures = new Episode<string>({
    interval: 10_000,
    began: (message) => this.logger.warn(`An idle connection to the database failed: ${message}`),
    continued: (repeats) => this.logger.warn(`${repeats} more idle connections to the database failed`),
  });

  constructor(
    settings: PostgresSettings,
    readonly hosts: Hosts,
    max: number,
  ) {
    const config: PostgresClientConfig & pg.PoolConfig = {
      hosts,
      user: settings.user,
      // Not taken from the environment or from ~/.pgpass: all that counts is in the configuration.
      password: settings.password ?? '',
      database: settings.database,
      ssl: tlsOf(settings),
      application_name: 'cookies',
      max,
      query_timeout: settings.statementTimeout + GRACE,
      connectionTimeoutMillis: settings.busyTimeout,
      idleTimeoutMillis: 30_000,
      // Behind a name that moves from server to server, no connection stays at the old one for ever.
      maxLifetimeSeconds: 1800,
      keepAlive: true,
      types: { getTypeParser },
    };
    this.pool = new pg.Pool(Object.assign(config, { Client: PostgresClient, onConnect: this.expectPrimary }));
    this.pool.on('error', ({ message }) => this.idleFailures.report(message));
  }

  /**
   * @throws {DatabaseUnavailableError} when none is free in time, or none can be made; its cause says why
   */
  async take(): Promise<PostgresClient> {
    for (let attempt = 1; ; attempt++) {
      try {
        const client = (await this.pool.connect()) as PostgresClient & pg.PoolClient;
        if (client.generation === this.hosts.generation) return client;
        client.release(true);
        attempt--;
      } catch (error) {
        publishEngineError(error);
        // The failure has turned `hosts` to the next one.
        if (attempt >= this.hosts.count) throw unreachable(error);
      }
    }
  }

  /** @param failure what went wrong on the connection, if anything did */
  giveBack(client: PostgresClient, failure?: unknown): void {
    if (isReadOnlyServer(failure)) this.distrust(client);
    (client as PostgresClient & pg.PoolClient).release(client.mustClose || isConnectionFailure(failure));
  }

  /** For one whose state is not known: it is closed. */
  discard(client: PostgresClient): void {
    (client as PostgresClient & pg.PoolClient).release(true);
  }

  close(): Promise<void> {
    this.idleFailures.close();
    return this.pool.end();
  }

  private distrust(client: PostgresClient): void {
    if (client.generation === this.hosts.generation) this.hosts.generation++;
    this.hosts.leave(client.target);
  }

  /** Of several servers, only one may be written. */
  private readonly expectPrimary = async (client: PostgresClient): Promise<void> => {
    if (this.hosts.count === 1) return;
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
    if (rows[0]?.transaction_read_only === 'off') return;
    this.hosts.leave(client.target);
    throw Object.assign(new Error('The server is a standby'), { code: '25006' });
  };
}

function unreachable(cause: unknown): DatabaseUnavailableError {
  return new DatabaseUnavailableError('The database cannot be reached', cause, isPoolTimeout(cause) ? 'busy' : 'away');
}

/** Ids, revisions and counts are at most 2^53 - 1, so the engine's 64-bit integers are numbers, as on SQLite. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format);
}

/** What libpq does under the same `sslmode` (https://www.postgresql.org/docs/current/libpq-ssl.html). */
function tlsOf({ sslMode, sslCa }: PostgresSettings): pg.ClientConfig['ssl'] {
  if (sslMode === 'disable') return false;
  if (sslMode === 'verify-full') return { ca: sslCa };
  const checked = sslMode === 'verify-ca' || sslCa !== undefined;
  return checked ? { ca: sslCa, checkServerIdentity: () => undefined } : { rejectUnauthorized: false };
}
