import { isIPv6 } from 'node:net';
import { addressKey } from './client-address.js';
import type { Connection } from './connection.js';
import type { ConnectionLimits } from './connection-limits.js';

/** The connections that are open, and how many there may be, in all and for each address. */
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

  /** Adds a connection; where it is one too many, another is closed, or this one. */
  add(connection: Connection): void {
    const key = addressKey(connection.address);
    const siblings = this.byAddress.get(key) ?? new Set();
    this.byAddress.set(key, siblings);
    this.all.add(connection);
    siblings.add(connection);
    const { connections, connectionsPerAddress } = this.limits;
    if (siblings.size > connectionsPerAddress && !this.isProxy(connection.address)) makeRoom(siblings, connection);
    else if (this.all.size > connections) makeRoom(this.all, connection);
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
}

/** One connection too many: the most expendable gives way, of those that are alike the oldest; where all are in use, the newcomer. */
function makeRoom(candidates: Set<Connection>, newcomer: Connection): void {
  let found = newcomer;
  let least = Infinity;
  for (const connection of candidates) {
    if (connection === newcomer || connection.socket.destroyed) continue;
    const { expendability = Infinity } = connection;
    if (expendability >= least) continue;
    [found, least] = [connection, expendability];
    if (least === 0) break;
  }
  found.cut('too many connections');
}
