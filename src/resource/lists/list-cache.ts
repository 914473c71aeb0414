import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../../config/config.js';

/** Number of lists of the greatest length that fit into the cache. */
const SHARES = 4;

/** Overhead of a cached list in bytes: URL, ETag and JavaScript objects. */
const OVERHEAD = 1024;

/** Maximum number of lists that are collected at the same time: an incomplete list takes memory, too. */
const COLLECTED_AT_ONCE = 2;

/** A cached list, with the number of its current readers. */
export class CachedList {
  readonly bytes = this.chunks.reduce((sum, { length }) => sum + length, OVERHEAD);
  readers = 0;
  isCached = true;

  /** @param link the `Link` of a page; absent for the last page */
  constructor(
    readonly etag: string,
    readonly chunks: readonly Buffer[],
    readonly link?: string,
  ) {}
}

/**
 * The cache of lists by URL. A change to the resource changes its ETag, and the next list replaces the old one. Old
 * lists that clients still read count as well: together they stay below `LIST_CACHE_BYTES`.
 */
@Injectable()
export class ListCache {
  /** Longest list in bytes that is cached. */
  readonly longest: number;
  private readonly lists?: LRUCache<string, CachedList>;
  private collecting = 0;
  /** Bytes of replaced lists that clients still read. */
  private staleBytes = 0;

  constructor({ listCacheBytes: maxSize }: Config) {
    this.longest = Math.floor(maxSize / SHARES);
    if (maxSize === 0) return;
    this.lists = new LRUCache({
      maxSize,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: (list) => {
        list.isCached = false;
        if (list.readers > 0) this.staleBytes += list.bytes;
      },
    });
  }

  /** Bytes of all lists that are cached or still read. */
  get bytes(): number {
    return (this.lists?.calculatedSize ?? 0) + this.staleBytes;
  }

  /** Tells whether to collect a list while it is sent: only as many as fit. */
  collect(): boolean {
    if (this.lists === undefined || this.staleBytes + this.longest > this.lists.maxSize) return false;
    if (this.collecting >= COLLECTED_AT_ONCE) return false;
    this.collecting += 1;
    return true;
  }

  /** Ends the collection of a list; `chunks` is absent for an incomplete list. */
  collected(etag: string, url: string, chunks?: Buffer[]): void {
    this.collecting -= 1;
    if (chunks !== undefined) this.put(url, new CachedList(etag, chunks));
  }

  /** Caches a list that is one Buffer. */
  add(etag: string, url: string, whole: Buffer, link?: string): void {
    if (this.lists === undefined || whole.length + OVERHEAD > this.longest) return;
    // A small buffer is a slice of Node's shared pool. A copy does not keep the pool in memory.
    const own = whole.buffer.byteLength === whole.length ? whole : Buffer.from(new Uint8Array(whole).buffer);
    this.put(url, new CachedList(etag, [own], link));
  }

  get(etag: string, url: string): CachedList | undefined {
    const list = this.lists?.get(url);
    return list?.etag === etag ? list : undefined;
  }

  private put(url: string, list: CachedList): void {
    if (this.lists === undefined) return;
    this.lists.delete(url);
    const limit = this.lists.maxSize - list.bytes;
    while (this.lists.size > 0 && this.bytes >= limit) this.lists.pop();
    if (this.bytes < limit) this.lists.set(url, list);
  }

  /** Counts a reader of a cached list; call `release` when it has finished. */
  retain(list: CachedList): void {
    list.readers += 1;
  }

  release(list: CachedList): void {
    list.readers -= 1;
    if (list.readers === 0 && !list.isCached) this.staleBytes -= list.bytes;
  }
}
