import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../../config/config.js';

/** How many lists of the longest that are cached fit in together. */
const SHARES = 4;

/** Lists that are collected at once. What readers leave half read takes memory, too. */
const COLLECTED_AT_ONCE = 2;

/** A list as it was sent, and who reads it now. */
export class CachedList {
  readonly bytes: number;
  readers = 0;
  isCached = true;

  constructor(readonly chunks: readonly Buffer[]) {
    this.bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  }
}

/**
 * Lists as they were last sent, for as long as nothing has changed. A list is known by its resource's ETag and by what
 * was selected; of a resource that has changed, the old lists are never asked for again and give way to new ones. What a
 * client still reads of them counts, too: all together stay within `LIST_CACHE_BYTES`.
 */
@Injectable()
export class ListCache {
  /** The longest list that is cached, in bytes. */
  readonly longest: number;
  private readonly lists?: LRUCache<string, CachedList>;
  private readonly collecting = new Set<string>();
  /** Bytes of lists that are no longer cached, and still read. */
  private staleBytes = 0;

  constructor({ listCacheBytes: maxSize }: Config) {
    this.longest = Math.floor(maxSize / SHARES);
    if (maxSize === 0) return;
    this.lists = new LRUCache({
      maxSize,
      sizeCalculation: ({ bytes }) => bytes + 1,
      dispose: (list) => {
        list.isCached = false;
        if (list.readers > 0) this.staleBytes += list.bytes;
      },
    });
  }

  /** Bytes of all lists that are cached, or still read. */
  get bytes(): number {
    return (this.lists?.calculatedSize ?? 0) + this.staleBytes;
  }

  /** Whether a list that is being sent should be collected to be cached: not two of the same, and not more than have room. */
  collect(etag: string, selection: string): boolean {
    const list = `${etag} ${selection}`;
    if (this.lists === undefined || this.staleBytes + this.longest > this.lists.maxSize) return false;
    if (this.collecting.size >= COLLECTED_AT_ONCE || this.collecting.has(list)) return false;
    this.collecting.add(list);
    return true;
  }

  /** Ends the collection of a list; without its chunks, it came to nothing. */
  collected(etag: string, selection: string, chunks?: Buffer[]): void {
    const key = `${etag} ${selection}`;
    this.collecting.delete(key);
    if (this.lists === undefined || chunks === undefined) return;
    const list = new CachedList(chunks);
    const limit = this.lists.maxSize - list.bytes;
    while (this.lists.size > 0 && this.bytes >= limit) this.lists.pop();
    if (this.bytes < limit) this.lists.set(key, list);
  }

  get(etag: string, selection: string): CachedList | undefined {
    return this.lists?.get(`${etag} ${selection}`);
  }

  /** A client begins to read a cached list. To be followed by `release`. */
  retain(list: CachedList): void {
    list.readers += 1;
  }

  release(list: CachedList): void {
    list.readers -= 1;
    if (list.readers === 0 && !list.isCached) this.staleBytes -= list.bytes;
  }
}
