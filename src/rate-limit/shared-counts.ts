import type { DataSource } from 'typeorm';

/** Requests between two deletions of expired counts; each deletes up to twice as many, so that the table shrinks. */
const PRUNE_EACH = 500;

/** The requests in a window, and its end in milliseconds since 1970. */
interface Count {
  readonly requests: number;
  readonly endsAt: number;
}

/** Counts requests in the table `rate_limits`, so that all processes and replicas on the database have one count. */
export class SharedCounts {
  private added = 0;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Counts one request. The first request of a key begins its window.
   * @param window in milliseconds
   */
  async add(key: string, window: number): Promise<Count> {
    const now = Date.now();
    // PostgreSQL returns a bigint as text.
    const [row] = await this.dataSource.sql<[{ requests: number; ends_at: number | string }]>`
      INSERT INTO rate_limits (key, requests, ends_at) VALUES (${key}, 1, ${now + window})
      ON CONFLICT (key) DO UPDATE SET
        requests = CASE WHEN rate_limits.ends_at <= ${now} THEN 1 ELSE rate_limits.requests + 1 END,
        ends_at = CASE WHEN rate_limits.ends_at <= ${now} THEN excluded.ends_at ELSE rate_limits.ends_at END
      RETURNING requests, ends_at`;
    this.added += 1;
    if (this.added % PRUNE_EACH === 0) void this.prune(now).catch(() => {});
    return { requests: row.requests, endsAt: Number(row.ends_at) };
  }

  /** Deletes expired counts. */
  private async prune(now: number): Promise<void> {
    // The outer condition is for PostgreSQL: meanwhile, another process may have begun a new window.
    await this.dataSource.sql`DELETE FROM rate_limits WHERE ends_at <= ${now} AND key IN
      (SELECT key FROM rate_limits WHERE ends_at <= ${now} LIMIT ${2 * PRUNE_EACH})`;
  }
}
