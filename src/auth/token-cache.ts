import { LRUCache } from 'lru-cache';
import type { Principal } from './principal.js';

/** Bytes of all entries together: some 10 000 tokens of 400 characters. */
const TOKEN_CACHE_BYTES = 16 * 1024 * 1024;
/** Largest entry in bytes. A larger token is verified at every request, because it would evict many others. */
const LARGEST_ENTRY = 24 * 1024;

/** Overhead in bytes of an entry and of a scope, without the characters. */
const ENTRY = 400;
const SCOPE = 64;
/**
 * Bytes for each character of a token: one for itself, and up to one and a half for its claims, which take two for each
 * character when one of them is beyond Latin-1, and which their parts (the scopes of a string) keep alive as a whole.
 */
const CHARACTER = 2.5;

/** Cache of verified tokens by their string. It evicts the least recently used token first. */
export class TokenCache {
  private readonly entries: LRUCache<string, Principal>;

  /** @param maxSize bytes of all entries together, as estimated */
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
