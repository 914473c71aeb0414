import { compile } from '@fastify/proxy-addr';
import type { Config } from '../../config/config.js';
import { addressKey } from '../messages/request.js';
import type { Connection } from './connection.js';

/** @property trustProxy proxies that have no limit per address, since each connects for many clients */
export type ConnectionLimits = Config['http'] & Partial<Pick<Config, 'trustProxy'>>;

/** The open connections, limited in all and for each address. */
export class OpenConnections {
  private readonly all = new Set<Connection>();
  private readonly byAddress = new Map<string, Set<Connection>>();

  private readonly isProxy: (address: string, hops: number) => boolean;

  constructor(private readonly limits: ConnectionLimits) {
    const { trustProxy = false } = limits;
    this.isProxy = trustProxy === false ? () => false : compile(trustProxy);
  }

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
    const isCrowded = siblings.size > connectionsPerAddress && !this.isProxy(connection.address ?? '', 0);
    if (isCrowded) this.closeOne(siblings, connection);
    else if (this.all.size > connections) this.closeOne(this.all, connection);
  }

  delete(connection: Connection): void {
    this.all.delete(connection);
    const key = addressKey(connection.address);
    const siblings = this.byAddress.get(key);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.byAddress.delete(key);
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
