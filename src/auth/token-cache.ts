import { LRUCache } from 'lru-cache';
import type { Principal } from './principal.js';

/** Bytes of all entries together: some 10 000 tokens of 400 characters. */
const TOKEN_CACHE_BYTES = 16 * 1024 * 1024;
/** Bytes of one entry. A larger token is not cached, because it would evict many others. */
const LARGEST_ENTRY = 24 * 1024;

/** Bytes that V8 and the cache need for an entry and for a scope, without the characters. */
const ENTRY = 400;
const SCOPE = 64;
/** Bytes per character of a token: one for the token, and up to one and a half for its claims outside of Latin-1. */
const CHARACTER = 2.5;

/** Caches the principals of verified tokens. The least recently used entry is evicted first. */
export class TokenCache {
  private readonly entries: LRUCache<string, Principal>;

  /** @param maxSize estimated bytes of all entries */
  constructor(maxSize = TOKEN_CACHE_BYTES) {
    this.entries = new LRUCache<string, Principal>({
      maxSize,
      maxEntrySize: LARGEST_ENTRY,
      sizeCalculation: ({ scopes }, token) => ENTRY + Math.ceil(CHARACTER * token.length) + SCOPE * scopes.size,
    });
  }

  /** The principal of a cached token that has not expired. */
  get(token: string): Principal | undefined {
    const principal = this.entries.get(token);
    if (principal === undefined || principal.expiresAt * 1000 > Date.now()) return principal;
    this.entries.delete(token);
    return undefined;
  }

  set(token: string, principal: Principal): void {
    this.entries.set(token, principal);
  }

  /** Estimated bytes of all entries. */
  get bytes(): number {
    return this.entries.calculatedSize;
  }
}
