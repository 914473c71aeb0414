import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';

/** How many lists of the longest that are kept fit in together. */
const SHARES = 4;

/**
 * Lists as they were last sent, for as long as nothing has changed. A list is known by its resource's ETag and by what
 * was selected; of a resource that has changed, the old lists are never asked for again and give way to new ones.
 */
@Injectable()
export class ListCache {
  /** The longest text that is kept, in UTF-16 units. */
  readonly longest: number;
  private readonly lists?: LRUCache<string, string[]>;
  private readonly collecting = new Set<string>();

  constructor({ listCacheBytes: maxSize }: Config) {
    this.longest = Math.floor(maxSize / (2 * SHARES));
    if (maxSize > 0) this.lists = new LRUCache({ maxSize, sizeCalculation: sizeOf });
  }

  /**
   * Whether a list that is being sent should be collected to be kept. Not two of the same, and not more than would be
   * kept: what readers leave half read takes memory, too.
   */
  collect(etag: string, selection: string): boolean {
    const list = `${etag} ${selection}`;
    if (this.lists === undefined || this.collecting.size >= SHARES || this.collecting.has(list)) return false;
    this.collecting.add(list);
    return true;
  }

  /** Ends the collection of a list; without its text, it came to nothing. */
  collected(etag: string, selection: string, chunks?: string[]): void {
    const list = `${etag} ${selection}`;
    this.collecting.delete(list);
    if (chunks !== undefined) this.lists?.set(list, chunks);
  }

  get(etag: string, selection: string): readonly string[] | undefined {
    return this.lists?.get(`${etag} ${selection}`);
  }
}

/** A text takes up to two bytes a unit. */
function sizeOf(chunks: string[]): number {
  return chunks.reduce((size, chunk) => size + 2 * chunk.length, 1);
}
