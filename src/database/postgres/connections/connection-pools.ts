import { ConnectionPool, type PostgresSettings } from './connection-pool.js';
import type { Hosts } from './postgres-client.js';

/** Milliseconds that the client waits longer than the server, because the server's error says more. */
const GRACE = 1000;

/** Milliseconds that a check waits for its response. */
const CHECK_TIMEOUT = 2000;

/**
 * The connection pools of a process: one for requests, one for slow readers of lists, one for checks of the database.
 * Each has at least one connection if the server has enough slots.
 */
export class ConnectionPools {
  readonly ordinary: ConnectionPool;
  readonly lists: ConnectionPool;
  readonly checks: ConnectionPool;

  constructor(settings: PostgresSettings, hosts: Hosts) {
    const make = (name: string, max: number, queryTimeout = settings.statementTimeout + GRACE): ConnectionPool =>
      new ConnectionPool(settings, hosts, { name, max, queryTimeout, onStarved: () => this.giveUpOne() });
    this.ordinary = make('requests', settings.poolSize);
    this.lists = make('lists', settings.listPoolSize);
    this.checks = make('checks', 1, CHECK_TIMEOUT);
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((connections) => connections.close()));
  }

  /** Makes the largest pool give up a connection, because another pool has none and the server has no free slot. */
  private giveUpOne(): void {
    const [largest] = this.all.sort((one, other) => other.pool.totalCount - one.pool.totalCount);
    largest!.giveUpOne();
  }

  get all(): ConnectionPool[] {
    return [this.ordinary, this.lists, this.checks];
  }
}
