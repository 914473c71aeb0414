import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { DataSource } from 'typeorm';

/** Keys that one limit keeps in memory. The key that has been idle longest is removed for a new one. */
const MOST_KEYS = 20_000;

/** Requests between two deletions of expired counts; each deletes up to twice as many, so that the table shrinks. */
const PRUNE_EACH = 500;

/** A limit for each subject, or for each address, in one class of routes. */
export class Limit {
  /** Requests of each key in its window, until the window ends. */
  private readonly counts: LRUCache<string, number>;

  /**
   * @param name of the policy in the RateLimit fields
   * @param requests that a key may send in a window
   * @param window in seconds
   * @param shared counts of all processes; absent if this process counts for itself
   */
  constructor(
    readonly counted: 'subject' | 'address',
    readonly name: string,
    readonly requests: number,
    readonly window: number,
    private readonly shared?: SharedCounts,
  ) {
    this.counts = new LRUCache({ max: MOST_KEYS, ttl: window * 1000, noUpdateTTL: true });
  }

  /** Counts a request of a subject or an address. */
  async count(subjectOrAddress: string) {
    // A hash, because a subject may be long, and the table should have no names of users.
    const key = createHash('sha256').update(subjectOrAddress).digest('base64url');
    const requests = await this.add(key);
    return {
      isExceeded: requests > this.requests,
      remaining: Math.max(this.requests - requests, 0),
      /** Whole seconds until the window ends. The clock of the cache may be a little late. */
      seconds: Math.min(this.window, Math.max(1, Math.ceil(this.counts.getRemainingTTL(key) / 1000))),
    };
  }

  /**
   * Counts in the database, or here while it fails. A key over its limit is counted here, without a statement.
   * @returns the requests of the key in its window
   */
  private async add(key: string): Promise<number> {
    const { counts, shared } = this;
    const isExceeded = (counts.get(key) ?? 0) > this.requests;
    const count = isExceeded
      ? undefined
      : await shared?.add(`${this.name} ${key}`, this.window * 1000).catch(() => undefined);
    const requests = count?.requests ?? (counts.get(key) ?? 0) + 1;
    if (count === undefined) counts.set(key, requests);
    else counts.set(key, requests, { ttl: Math.max(count.endsAt - Date.now(), 1), noUpdateTTL: false });
    return requests;
  }
}

/** Counts requests in the table `rate_limits`, so that all processes and replicas on the database have one count. */
export class SharedCounts {
  private added = 0;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Counts one request. The first request of a key begins its window.
   * @param window in milliseconds
   * @returns the requests in the window, and its end in milliseconds since 1970
   */
  async add(key: string, window: number): Promise<{ readonly requests: number; readonly endsAt: number }> {
    const now = Date.now();
    const [row] = await this.dataSource.sql<[{ requests: number; ends_at: number }]>`
      INSERT INTO rate_limits (key, requests, ends_at) VALUES (${key}, 1, ${now + window})
      ON CONFLICT (key) DO UPDATE SET
        requests = CASE WHEN rate_limits.ends_at <= ${now} THEN 1 ELSE rate_limits.requests + 1 END,
        ends_at = CASE WHEN rate_limits.ends_at <= ${now} THEN excluded.ends_at ELSE rate_limits.ends_at END
      RETURNING requests, ends_at`;
    this.added += 1;
    if (this.added % PRUNE_EACH === 0) void this.prune(now).catch(() => {});
    return { requests: row.requests, endsAt: row.ends_at };
  }

  /** Deletes expired counts. */
  private async prune(now: number): Promise<void> {
    // The outer condition is for PostgreSQL: meanwhile, another process may have begun a new window.
    await this.dataSource.sql`DELETE FROM rate_limits WHERE ends_at <= ${now} AND key IN
      (SELECT key FROM rate_limits WHERE ends_at <= ${now} LIMIT ${2 * PRUNE_EACH})`;
  }
}
