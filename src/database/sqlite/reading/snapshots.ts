import type { ConnectionUsage } from '../../engine.js';
import { DatabaseUnavailableError } from '../../errors.js';
import { TRANSACTION_ENDED } from '../../transaction-control.js';
import { retryWhileBusy, SqliteConnection, type StatementResult } from '../sqlite-connection.js';

/** Connections that stay open for later snapshots: as many as begin together (docs/adr/0024-list-cache-by-etag.md). */
const MOST_IDLE = 16;

/** Maximum number of snapshots at the same time. `ListQueue` and `ListReaders` allow fewer lists. */
const MOST_SNAPSHOTS = 80;

/** Read-only connections for transactions that see one state of the file. */
export class Snapshots {
  private readonly idle: SqliteConnection[] = [];
  private readonly open = new Set<SqliteConnection>();
  /** The functions that end the running transactions, with the error for a caller that continues to read. */
  private readonly running = new Set<(reason: Error) => void>();

  /** @param busyTimeout in milliseconds */
  constructor(
    private readonly path: string,
    private readonly busyTimeout: number,
  ) {}

  /**
   * Begins a transaction on the current state. Its `run` also throws the error that ended it early.
   * @throws {DatabaseUnavailableError} when too many snapshots are open, or the file stays locked for the busy time-out
   */
  async begin() {
    const connection = this.idle.pop() ?? this.connect();
    try {
      connection.run('BEGIN');
      // The first read fixes the state, not BEGIN.
      await retryWhileBusy(() => connection.run('SELECT 1 FROM sqlite_schema LIMIT 1'), this.busyTimeout);
      // Lists read their pages once, so a connection needs no cache of 16 MB, the default here. This statement could
      // meet a lock, too, so it comes after the first read.
      connection.run('PRAGMA cache_size = -64');
    } catch (error) {
      this.giveBack(connection);
      throw error;
    }
    let over: Error | undefined;
    const end = (reason: Error): void => {
      if (!this.running.delete(end)) return;
      over = reason;
      this.giveBack(connection);
    };
    this.running.add(end);
    const run = (sql: string, parameters?: readonly unknown[]): StatementResult => {
      if (over !== undefined) throw over;
      return connection.run(sql, parameters);
    };
    return { run, end: () => end(TRANSACTION_ENDED) };
  }

  /** Ends all running transactions, which keep SQLite from restarting the WAL. Returns their number. */
  endAll(): number {
    const { size } = this.running;
    const reason = new DatabaseUnavailableError(
      'The list was read too slowly: new writes need the space that its snapshot occupies',
    );
    for (const end of this.running) end(reason);
    return size;
  }

  get usage(): ConnectionUsage {
    return { pool: 'lists', used: this.running.size, limit: MOST_SNAPSHOTS, waiting: 0 };
  }

  close(): void {
    for (const connection of this.open) connection.database.close();
  }

  private connect(): SqliteConnection {
    if (this.open.size >= MOST_SNAPSHOTS)
      throw new DatabaseUnavailableError(`${MOST_SNAPSHOTS} snapshots are open, which is the maximum`);
    const connection = new SqliteConnection(this.path, { readonly: true });
    this.open.add(connection);
    return connection;
  }

  private giveBack(connection: SqliteConnection): void {
    if (connection.database.inTransaction) connection.run('ROLLBACK');
    if (this.idle.length < MOST_IDLE) return void this.idle.push(connection);
    this.open.delete(connection);
    connection.database.close();
  }
}
