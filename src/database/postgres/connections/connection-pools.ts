import { ConnectionPool, type PostgresSettings } from './connection-pool.js';
import type { Hosts } from './hosts.js';

/** Milliseconds by which this side waits longer than the server, whose own report says more. */
const GRACE = 1000;

/** Milliseconds a check waits for its response; its caller does not wait longer. */
const CHECK_TIMEOUT = 2000;

/**
 * The connections of one process, apart by what they are for: slow readers of lists block nothing else, and a check of the
 * database waits for no request. Each has at least one connection, where the server has slots for as many.
 */
export class ConnectionPools {
  readonly ordinary: ConnectionPool;
  readonly lists: ConnectionPool;
  readonly checks: ConnectionPool;

  constructor(settings: PostgresSettings, hosts: Hosts) {
    const make = (max: number, queryTimeout = settings.statementTimeout + GRACE): ConnectionPool =>
      new ConnectionPool(settings, hosts, { max, queryTimeout, onStarved: () => this.giveUpOne() });
    this.ordinary = make(settings.poolSize);
    this.lists = make(settings.listPoolSize);
    this.checks = make(1, CHECK_TIMEOUT);
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((connections) => connections.close()));
  }

  /** One pool has none, and the server has no slot: the largest pool gives one up. */
  private giveUpOne(): void {
    const [largest] = this.all.sort((one, other) => other.size - one.size);
    largest!.giveUpOne();
  }

  private get all(): ConnectionPool[] {
    return [this.ordinary, this.lists, this.checks];
  }
}
