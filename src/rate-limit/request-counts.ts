import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { DataSource } from 'typeorm';
import { engineOf } from '../database/engine.js';

/** Maximum number of keys in memory, for all limits together. A new key replaces the least recently used one. */
const MOST_KEYS = 100_000;

/** Requests between two deletions of expired counts. A deletion removes up to twice as many, so the table shrinks. */
const PRUNE_EACH = 500;

interface Count {
  requests: number;
  /** End of the window, in milliseconds since 1970. */
  endsAt: number;
}

export class RequestCounts {
  private readonly counts = new LRUCache<string, Count>({ max: MOST_KEYS });

  /** @param shared counts of all processes; absent if this process counts for itself */
  constructor(private readonly shared?: SharedCounts) {}

  /**
   * Counts a request, in the database, or here while the database fails. A key over its limit is counted here, without
   * a statement.
   * @param window in seconds
   */
  async add(policy: string, subjectOrAddress: string, most: number, window: number) {
    // A hash, because a subject may be long, and the table should have no names of users.
    const key = `${policy} ${createHash('sha256').update(subjectOrAddress).digest('base64url')}`;
    const milliseconds = window * 1000;
    const count = this.current(key, milliseconds);
    const isExceeded = count.requests > most;
    const shared = isExceeded ? undefined : await this.shared?.add(key, milliseconds).catch(() => undefined);
    Object.assign(count, shared ?? { requests: count.requests + 1 });
    return {
      isExceeded: count.requests > most,
      remaining: Math.max(most - count.requests, 0),
      /** Whole seconds until the window ends. */
      seconds: Math.max(1, Math.ceil((count.endsAt - Date.now()) / 1000)),
    };
  }

  /** The first request of a key begins its window; a shorter setting ends it sooner. */
  private current(key: string, window: number): Count {
    const now = Date.now();
    const first = { requests: 0, endsAt: now + window };
    const count = this.counts.get(key);
    if (count === undefined || count.endsAt <= now) {
      this.counts.set(key, first);
      return first;
    }
    count.endsAt = Math.min(count.endsAt, first.endsAt);
    return count;
  }
}

/** Counts requests in the table `rate_limits`, so that all processes and replicas on the database have one count. */
export class SharedCounts {
  private added = 0;

  /** The clock of the database, because those of the processes may differ by more than a window. */
  private readonly now = (): string => engineOf(this.dataSource).dialect.now;

  constructor(private readonly dataSource: DataSource) {}

  /** @param window in milliseconds; it begins and ends as in `RequestCounts` */
  async add(key: string, window: number): Promise<Count> {
    const { now } = this;
    const [row] = await this.dataSource.sql<[{ requests: number; left: number }]>`
      INSERT INTO rate_limits (key, requests, ends_at) VALUES (${key}, 1, ${now} + ${window})
      ON CONFLICT (key) DO UPDATE SET
        requests = CASE WHEN rate_limits.ends_at <= ${now} THEN 1 ELSE rate_limits.requests + 1 END,
        ends_at = CASE WHEN rate_limits.ends_at BETWEEN ${now} + 1 AND excluded.ends_at
          THEN rate_limits.ends_at ELSE excluded.ends_at END
      RETURNING requests, ends_at - ${now} AS "left"`;
    this.added += 1;
    if (this.added % PRUNE_EACH === 0) void this.prune().catch(() => {});
    return { requests: row.requests, endsAt: Date.now() + row.left };
  }

  private async prune(): Promise<void> {
    const { now } = this;
    // The outer condition is for PostgreSQL: meanwhile, another process may have begun a new window. Without the order,
    // PostgreSQL uses no index.
    await this.dataSource.sql`DELETE FROM rate_limits WHERE ends_at <= ${now} AND key IN
      (SELECT key FROM rate_limits WHERE ends_at <= ${now} ORDER BY ends_at LIMIT ${2 * PRUNE_EACH})`;
  }
}
