import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../../config/config.js';
import type { Id } from '../id-kinds.js';

/** Number of lists of the greatest length that fit into the cache. */
const SHARES = 4;

/** Overhead of a cached list in bytes: ETag and JavaScript objects. */
const OVERHEAD = 1024;

/** Maximum number of lists that are collected at the same time: an incomplete list takes memory, too. */
const MAX_COLLECTING = 2;

/** A cached list, with the number of its current readers. */
export class CachedList {
  readonly bytes = this.chunks.reduce((sum, { length }) => sum + length, OVERHEAD + 2 * this.key.length);
  readers = 0;
  isCached = true;

  /** @param last value of `after` for the next page; absent for the last page */
  constructor(
    readonly key: string,
    readonly etag: string,
    readonly chunks: readonly Buffer[],
    readonly last?: Id,
  ) {}
}

/**
 * The cache of lists. A key names the records of a list. A change to the resource changes its ETag, and the next list
 * replaces the old one. Old lists that clients still read count as well: together they stay below `LIST_CACHE_BYTES`.
 */
@Injectable()
export class ListCache {
  /** Longest list in bytes that is cached; 0 if the cache is off. */
  private readonly longest = Math.floor(this.config.listCacheBytes / SHARES);
  private readonly lists = new LRUCache<string, CachedList>({
    maxSize: Math.max(1, this.config.listCacheBytes),
    sizeCalculation: ({ bytes }) => bytes,
    dispose: (list) => {
      list.isCached = false;
      if (list.readers > 0) this.staleBytes += list.bytes;
    },
  });
  private collecting = 0;
  /** Bytes of replaced lists that clients still read. */
  private staleBytes = 0;

  constructor(private readonly config: Config) {}

  /** Bytes of all lists that are cached or still read. */
  get bytes(): number {
    return this.lists.calculatedSize + this.staleBytes;
  }

  /** Passes the chunks of a list on, and caches the list at its end. It collects only as many lists as fit. */
  async *collect(etag: string, key: string, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    if (this.staleBytes + this.longest > this.lists.maxSize || this.collecting >= MAX_COLLECTING) {
      yield* source;
      return;
    }
    this.collecting += 1;
    let chunks: Buffer[] | undefined = [];
    let length = 0;
    try {
      for await (const chunk of source) {
        length += chunk.length;
        if (length > this.longest) chunks = undefined;
        chunks?.push(chunk);
        yield chunk;
      }
      if (chunks !== undefined) this.put(new CachedList(key, etag, chunks));
    } finally {
      this.collecting -= 1;
    }
  }

  add(etag: string, key: string, whole: Buffer, last?: Id): void {
    // A small buffer is a slice of Node's shared pool. A copy does not keep the pool in memory.
    const own = whole.buffer.byteLength === whole.length ? whole : Buffer.from(new Uint8Array(whole).buffer);
    const list = new CachedList(key, etag, [own], last);
    if (list.bytes <= this.longest) this.put(list);
  }

  get(etag: string, key: string): CachedList | undefined {
    const list = this.lists.get(key);
    return list?.etag === etag ? list : undefined;
  }

  private put(list: CachedList): void {
    this.lists.delete(list.key);
    const limit = this.lists.maxSize - list.bytes;
    while (this.lists.size > 0 && this.bytes >= limit) this.lists.pop();
    if (this.bytes < limit) this.lists.set(list.key, list);
  }

  /** Counts a reader of a cached list until it calls the returned function. */
  retain(list: CachedList): () => void {
    list.readers += 1;
    return () => {
      list.readers -= 1;
      if (list.readers === 0 && !list.isCached) this.staleBytes -= list.bytes;
    };
  }
}
