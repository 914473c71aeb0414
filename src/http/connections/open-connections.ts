import { type BlockList, isIPv6 } from 'node:net';
import { addressKey } from '../messages/client-address.js';
import type { Connection } from './connection.js';

export interface ConnectionLimits {
  /** Maximum number of open connections. */
  readonly connections: number;
  /** Maximum number of open connections from one address; all addresses of an IPv6 /64 network count as one. */
  readonly connectionsPerAddress: number;
  /** Proxies that have no limit per address, since each connects for many clients. */
  readonly proxies?: BlockList;
  /** Maximum bytes of unsent responses and waiting requests of all connections. */
  readonly bufferedBytes: number;
  /** Milliseconds after which a client that reads nothing of its response is disconnected. */
  readonly stallTimeout: number;
  /** Milliseconds in which a whole request must arrive. */
  readonly requestTimeout: number;
  /** Milliseconds that a connection may stay open between two requests. */
  readonly keepAliveTimeout: number;
}

/** The open connections, limited in all and for each address. */
export class OpenConnections {
  private readonly all = new Set<Connection>();
  private readonly byAddress = new Map<string, Set<Connection>>();

  constructor(private readonly limits: ConnectionLimits) {}

  get size(): number {
    return this.all.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.all[Symbol.iterator]();
  }

  /** Adds a connection. If a limit is exceeded, it closes this or another connection. */
  add(connection: Connection): void {
    const key = addressKey(connection.address);
    const siblings = this.byAddress.get(key) ?? new Set();
    this.byAddress.set(key, siblings);
    this.all.add(connection);
    siblings.add(connection);
    const { connections, connectionsPerAddress } = this.limits;
    if (siblings.size > connectionsPerAddress && !this.isProxy(connection.address)) this.closeOne(siblings, connection);
    else if (this.all.size > connections) this.closeOne(this.all, connection);
  }

  delete(connection: Connection): void {
    this.all.delete(connection);
    const key = addressKey(connection.address);
    const siblings = this.byAddress.get(key);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.byAddress.delete(key);
  }

  private isProxy(address: string | undefined): boolean {
    const { proxies } = this.limits;
    return proxies !== undefined && address !== undefined && proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  /** Closes the oldest of the most expendable connections, or the newcomer if all others are in use. */
  private closeOne(candidates: Set<Connection>, newcomer: Connection): void {
    let mostExpendable = newcomer;
    let lowestPriority = Infinity;
    for (const connection of candidates) {
      if (connection === newcomer || connection.hasClosed) continue;
      const { priority } = connection;
      if (priority >= lowestPriority) continue;
      mostExpendable = connection;
      lowestPriority = priority;
      if (priority === 0) break;
    }
    // The `close` of a handshake comes some turns of the event loop later; it must not count until then.
    this.delete(mostExpendable);
    mostExpendable.cut('too many connections');
  }
}
