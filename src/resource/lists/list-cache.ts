import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../../config/config.js';

/** How many lists of the longest that are cached fit in together. */
const SHARES = 4;

/** Bytes that a list takes beside its own: its URL, its ETag, and what JavaScript needs to hold it. */
const OVERHEAD = 1024;

/** Lists that are collected at once. What readers leave half read takes memory, too. */
const COLLECTED_AT_ONCE = 2;

/** A list as it was sent, and who reads it now. */
export class CachedList {
  readonly bytes: number;
  readers = 0;
  isCached = true;

  /** @param link its `Link`, where it is a page that is not the last */
  constructor(
    readonly etag: string,
    readonly chunks: readonly Buffer[],
    readonly link?: string,
  ) {
    this.bytes = chunks.reduce((sum, { length }) => sum + length, OVERHEAD);
  }
}

/** Small buffers are parts of one that Node shares among many, and would keep all of it in memory. */
function ownMemory(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

/**
 * Lists as they were last sent, by their URLs, for as long as nothing has changed: then their resource has another ETag, and
 * the next list takes the place of the old one. What a client still reads of old lists counts, too: all together stay within
 * `LIST_CACHE_BYTES`.
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
      sizeCalculation: ({ bytes }) => bytes,
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
  collect(etag: string, url: string): boolean {
    const list = `${etag} ${url}`;
    if (this.lists === undefined || this.staleBytes + this.longest > this.lists.maxSize) return false;
    if (this.collecting.size >= COLLECTED_AT_ONCE || this.collecting.has(list)) return false;
    this.collecting.add(list);
    return true;
  }

  /** Ends the collection of a list; without its chunks, it came to nothing. */
  collected(etag: string, url: string, chunks?: Buffer[]): void {
    this.collecting.delete(`${etag} ${url}`);
    if (chunks !== undefined) this.put(url, new CachedList(etag, chunks));
  }

  /** Caches a list that was made in one piece. */
  add(etag: string, url: string, whole: Buffer, link?: string): void {
    if (this.lists === undefined || whole.length + OVERHEAD > this.longest) return;
    this.put(url, new CachedList(etag, [ownMemory(whole)], link));
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

  /** A client begins to read a cached list. To be followed by `release`. */
  retain(list: CachedList): void {
    list.readers += 1;
  }

  release(list: CachedList): void {
    list.readers -= 1;
    if (list.readers === 0 && !list.isCached) this.staleBytes -= list.bytes;
  }
}
