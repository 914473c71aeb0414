import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';

/**
 * Lists as they were last sent, for as long as nothing has changed. A list is known by its resource's ETag and by what
 * was selected; of a resource that has changed, the old lists are never asked for again and give way to new ones.
 */
@Injectable()
export class ListCache {
  /** The longest text that is kept, in UTF-16 units. */
  readonly longest: number;
  private readonly lists?: LRUCache<string, string[]>;

  constructor({ listCacheBytes: maxSize }: Config) {
    this.longest = Math.floor(maxSize / 4);
    if (maxSize > 0) this.lists = new LRUCache({ maxSize, sizeCalculation: sizeOf });
  }

  get(etag: string, selection: string): readonly string[] | undefined {
    return this.lists?.get(`${etag} ${selection}`);
  }

  set(etag: string, selection: string, chunks: string[]): void {
    this.lists?.set(`${etag} ${selection}`, chunks);
  }
}

/** A text takes up to two bytes a unit. */
function sizeOf(chunks: string[]): number {
  return chunks.reduce((size, chunk) => size + 2 * chunk.length, 1);
}
