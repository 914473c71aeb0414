import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import type { SharedCounts } from './shared-counts.js';

/** Keys that one limit keeps in memory. The key that has been idle longest is removed for a new one. */
const MOST_KEYS = 20_000;

/** A limit for each subject, or for each address, in one class of routes. */
export class Limit {
  private readonly local: RateLimiterMemory;
  private readonly keys = new LRUCache<string, true>({
    max: MOST_KEYS,
    dispose: (_value, key) => void this.local.delete(key),
  });

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
    this.local = new RateLimiterMemory({ points: requests, duration: window });
  }

  /** Counts a request of a subject or an address. While the database fails, this process counts for itself. */
  async count(subjectOrAddress: string) {
    // A hash, because a subject may be long, and the table should have no names of users.
    const key = createHash('sha256').update(subjectOrAddress).digest('base64url');
    this.keys.set(key, true);
    const state = this.shared === undefined ? await this.local.penalty(key) : await this.countShared(key, this.shared);
    return {
      isExceeded: state.consumedPoints > this.requests,
      remaining: Math.max(this.requests - state.consumedPoints, 0),
      /** Whole seconds until the window ends. */
      seconds: Math.max(1, Math.ceil(state.msBeforeNext / 1000)),
    };
  }

  /** Counts in the database. A key over its limit stays in memory, so that its further requests need no statement. */
  private async countShared(key: string, shared: SharedCounts): Promise<RateLimiterRes> {
    const known = await this.local.get(key);
    if (known !== null && known.consumedPoints > this.requests) return known;
    const count = await shared.add(`${this.name} ${key}`, this.window * 1000).catch(() => undefined);
    if (count === undefined) return this.local.penalty(key);
    return this.local.set(key, count.requests, Math.max(count.endsAt - Date.now(), 1) / 1000);
  }
}
