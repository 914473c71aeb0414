import { compile } from '@fastify/proxy-addr';
import type { Config } from '../../config/config.js';
import type { Connection } from './connection.js';

/** @property trustProxy proxies that have no limit per address, since each connects for many clients */
export type ConnectionLimits = Config['http'] & Partial<Pick<Config, 'trustProxy'>>;

/** The open connections, limited in all and for each address. */
export class OpenConnections extends Set<Connection> {
  private readonly isProxy = compile(this.limits.trustProxy || []);
  private readonly byAddress = new Map<string, Set<Connection>>();

  constructor(private readonly limits: ConnectionLimits) {
    super();
  }

  /** Adds a connection. If a limit is exceeded, it closes this or another connection. */
  override add(connection: Connection): this {
    super.add(connection);
    const { connections, connectionsPerAddress } = this.limits;
    const { address = '', addressKey } = connection;
    const siblings = this.byAddress.get(addressKey) ?? new Set<Connection>();
    this.byAddress.set(addressKey, siblings.add(connection));
    const isCrowded = siblings.size > connectionsPerAddress && !this.isProxy(address, 0);
    if (isCrowded) this.closeOne(siblings, connection);
    else if (this.size > connections) this.closeOne(this, connection);
    return this;
  }

  override delete(connection: Connection): boolean {
    const siblings = this.byAddress.get(connection.addressKey);
    siblings?.delete(connection);
    if (siblings?.size === 0) this.byAddress.delete(connection.addressKey);
    return super.delete(connection);
  }

  /** Closes the oldest of the most expendable connections, or the newcomer if all others are in use. */
  private closeOne(candidates: Set<Connection>, newcomer: Connection): void {
    let mostExpendable = newcomer;
    let lowestPriority = Infinity;
    for (const connection of candidates) {
      if (connection === newcomer || connection.hasClosed || connection.priority >= lowestPriority) continue;
      mostExpendable = connection;
      lowestPriority = connection.priority;
    }
    // The `close` of a handshake comes some turns of the event loop later; it must not count until then.
    this.delete(mostExpendable);
    mostExpendable.cut('too many connections');
  }
}
