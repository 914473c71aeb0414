import { Config } from '../../config/config.js';
import { ListCache } from './list-cache.js';

const cacheOf = (bytes: number): ListCache => new ListCache({ listCacheBytes: bytes } as Config);
const bytes = (length: number): Buffer[] => [Buffer.alloc(length)];

describe('the cache of lists', () => {
  it('counts bytes, those of lists that are still read and no longer cached included', () => {
    const cache = cacheOf(1000);
    for (let list = 0; list < 4; list++) cache.collected('etag', `/${list}`, bytes(240));
    const first = cache.get('etag', '/0')!;
    const second = cache.get('etag', '/1')!;
    cache.retain(first);
    cache.retain(first);
    cache.retain(second);
    for (let list = 4; list < 12; list++) {
      cache.collected('etag', `/${list}`, bytes(240));
      expect(cache.bytes).toBeLessThanOrEqual(1000);
    }
    expect([cache.get('etag', '/0'), cache.get('etag', '/1')]).toEqual([undefined, undefined]);
    const held = cache.bytes;
    cache.release(first);
    expect(cache.bytes).toBe(held);
    cache.release(first);
    cache.release(second);
    expect(cache.bytes).toBe(held - 480);
  });

  it('collects nothing while what is read of old lists leaves no room', () => {
    const cache = cacheOf(1000);
    for (let list = 0; list < 4; list++) {
      cache.collected('old', `/${list}`, bytes(240));
      cache.retain(cache.get('old', `/${list}`)!);
    }
    for (let list = 0; list < 4; list++) cache.collected('new', `/${list}`, bytes(240));
    expect(cache.bytes).toBeLessThanOrEqual(1000);
    expect(cache.collect('newest', '/')).toBe(false);
  });

  it('collects a list once at a time, and two lists at most', () => {
    const cache = cacheOf(1000);
    expect([cache.collect('etag', '/a'), cache.collect('etag', '/a')]).toEqual([true, false]);
    expect([cache.collect('etag', '/b'), cache.collect('etag', '/c')]).toEqual([true, false]);
    cache.collected('etag', '/a');
    expect(cache.collect('etag', '/c')).toBe(true);
    expect(cache.get('etag', '/a')).toBeUndefined();
  });

  it('caches nothing with LIST_CACHE_BYTES=0', () => {
    const cache = cacheOf(0);
    expect(cache.collect('etag', '/')).toBe(false);
    cache.collected('etag', '/', bytes(1));
    expect(cache.get('etag', '/')).toBeUndefined();
  });
});
