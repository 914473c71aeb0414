import { Config } from '../../config/config.js';
import { ListCache } from './list-cache.js';

const cacheOf = (bytes: number): ListCache => new ListCache({ listCacheBytes: bytes } as Config);
/** A list that takes `size` kilobytes of the cache, overhead included. */
const kilobytes = (size: number): Buffer[] => [Buffer.alloc(1000 * size - 1024)];

describe('the cache of lists', () => {
  it('counts bytes, including evicted lists that are still read', () => {
    const cache = cacheOf(1_000_000);
    for (let list = 0; list < 4; list++) cache.collected('etag', `/${list}`, kilobytes(240));
    const first = cache.get('etag', '/0')!;
    const second = cache.get('etag', '/1')!;
    cache.retain(first);
    cache.retain(first);
    cache.retain(second);
    for (let list = 4; list < 12; list++) {
      cache.collected('etag', `/${list}`, kilobytes(240));
      expect(cache.bytes).toBeLessThanOrEqual(1_000_000);
    }
    expect([cache.get('etag', '/0'), cache.get('etag', '/1')]).toEqual([undefined, undefined]);
    const held = cache.bytes;
    cache.release(first);
    expect(cache.bytes).toBe(held);
    cache.release(first);
    cache.release(second);
    expect(cache.bytes).toBe(held - 480_000);
  });

  it('collects nothing while readers of old lists leave no room', () => {
    const cache = cacheOf(1_000_000);
    for (let list = 0; list < 4; list++) {
      cache.collected('old', `/${list}`, kilobytes(240));
      cache.retain(cache.get('old', `/${list}`)!);
    }
    for (let list = 0; list < 4; list++) cache.collected('new', `/${list}`, kilobytes(240));
    expect(cache.bytes).toBeLessThanOrEqual(1_000_000);
    expect(cache.collect()).toBe(false);
  });

  it('collects at most two lists at a time', () => {
    const cache = cacheOf(1_000_000);
    expect([cache.collect(), cache.collect(), cache.collect()]).toEqual([true, true, false]);
    cache.collected('etag', '/a');
    expect(cache.collect()).toBe(true);
    expect(cache.get('etag', '/a')).toBeUndefined();
  });

  it('replaces the list that its URL had before', () => {
    const cache = cacheOf(1_000_000);
    for (let revision = 0; revision < 10; revision++) cache.add(`${revision}`, '/', Buffer.alloc(20_000), '<next>');
    expect(cache.bytes).toBeLessThan(30_000);
    expect(cache.get('8', '/')).toBeUndefined();
    expect(cache.get('9', '/')).toMatchObject({ link: '<next>', chunks: [Buffer.alloc(20_000)] });
  });

  it('keeps no more in memory than the bytes of a small list', () => {
    const cache = cacheOf(1_000_000);
    cache.add('etag', '/', Buffer.from('[]'));
    expect(cache.get('etag', '/')!.chunks[0]!.buffer.byteLength).toBe(2);
  });

  it('caches no single Buffer that is longer than a quarter of the cache', () => {
    const cache = cacheOf(1_000_000);
    cache.add('etag', '/long', Buffer.alloc(250_000));
    cache.add('etag', '/shorter', Buffer.alloc(240_000));
    expect([cache.get('etag', '/long'), cache.get('etag', '/shorter')]).toEqual([undefined, expect.anything()]);
  });

  it('caches nothing with LIST_CACHE_BYTES=0', () => {
    const cache = cacheOf(0);
    expect(cache.collect()).toBe(false);
    cache.collected('etag', '/', kilobytes(2));
    cache.add('etag', '/', Buffer.from('[]'));
    expect(cache.get('etag', '/')).toBeUndefined();
  });
});
