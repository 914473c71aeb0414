import { DatabaseUnavailableError } from '../errors.js';
import { Connection } from './connection.js';

/** Read-only connections for transactions that only read: each sees one state of the file for as long as it lasts. */
export class Snapshots {
  private readonly idle: Connection[] = [];
  private readonly open = new Set<Connection>();

  /**
   * @param path of the database file
   * @param limit how many transactions may read at once
   */
  constructor(
    private readonly path: string,
    private readonly limit = 64,
  ) {}

  /**
   * Takes a connection for one transaction.
   * @throws {DatabaseUnavailableError} when as many as may be are in use
   */
  take(): Connection {
    const idle = this.idle.pop();
    if (idle !== undefined) return idle;
    if (this.open.size >= this.limit)
      throw new DatabaseUnavailableError(`${this.limit} snapshots are being read already`);
    const connection = new Connection(this.path, { readonly: true });
    // Lists pass once over their pages; many of them must not hold 16 MB each, SQLite's setting here otherwise.
    connection.database.pragma('cache_size = -1024');
    this.open.add(connection);
    return connection;
  }

  /** Gives a connection back; its transaction has ended. */
  giveBack(connection: Connection): void {
    this.idle.push(connection);
  }

  close(): void {
    for (const connection of this.open) connection.close();
    this.open.clear();
    this.idle.length = 0;
  }
}
