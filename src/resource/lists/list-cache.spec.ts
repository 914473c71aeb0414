import { Readable } from 'node:stream';
import { Config } from '../../config/config.js';
import { ListCache } from './list-cache.js';

const cacheOf = (bytes: number): ListCache => new ListCache({ listCacheBytes: bytes } as Config);

/** Collects a list that takes `size` kilobytes of the cache, key and overhead included. */
async function collect(cache: ListCache, key: string, size = 240, etag = 'etag'): Promise<void> {
  const bytes = 1000 * size - 1024 - 2 * key.length;
  for await (const _ of cache.collect(etag, key, Readable.from([Buffer.alloc(bytes)])));
}

describe('the cache of lists', () => {
  it('counts bytes, including evicted lists that are still read', async () => {
    const cache = cacheOf(1_000_000);
    for (let list = 0; list < 4; list++) await collect(cache, `/${list}`);
    const [release, ...releaseOthers] = ['/0', '/0', '/1'].map((key) => cache.retain(cache.get('etag', key)!));
    for (let list = 4; list < 12; list++) {
      await collect(cache, `/${list}`);
      expect(cache.bytes).toBeLessThanOrEqual(1_000_000);
    }
    expect([cache.get('etag', '/0'), cache.get('etag', '/1')]).toEqual([undefined, undefined]);
    const held = cache.bytes;
    release!();
    expect(cache.bytes).toBe(held);
    for (const releaseOther of releaseOthers) releaseOther();
    expect(cache.bytes).toBe(held - 480_000);
  });

  it('collects nothing while readers of old lists leave no room', async () => {
    const cache = cacheOf(1_000_000);
    for (let list = 0; list < 4; list++) {
      await collect(cache, `/${list}`, 240, 'old');
      cache.retain(cache.get('old', `/${list}`)!);
    }
    for (let list = 0; list < 4; list++) cache.add('new', `/${list}`, Buffer.alloc(238_000));
    expect(cache.bytes).toBeLessThanOrEqual(1_000_000);
    await collect(cache, '/small', 2);
    expect(cache.get('etag', '/small')).toBeUndefined();
  });

  it('collects at most two lists at a time, and none that is not read to its end', async () => {
    const cache = cacheOf(1_000_000);
    const unfinished = ['/a', '/b'].map((key) => cache.collect('etag', key, Readable.from([Buffer.alloc(9)])));
    for (const list of unfinished) await list.next();
    await collect(cache, '/c');
    expect(cache.get('etag', '/c')).toBeUndefined();
    await unfinished[0]!.return(undefined);
    await collect(cache, '/d');
    expect(cache.get('etag', '/d')).toBeDefined();
    expect(cache.get('etag', '/a')).toBeUndefined();
  });

  it('counts the keys, which may be longer than the lists', () => {
    const cache = cacheOf(1_000_000);
    for (let list = 0; list < 100; list++) cache.add('etag', `${list}`.padEnd(10_000), Buffer.from('[]'));
    expect(cache.bytes).toBeGreaterThan(900_000);
    expect([cache.get('etag', '0'.padEnd(10_000)), cache.get('etag', '99'.padEnd(10_000))]).toEqual([
      undefined,
      expect.anything(),
    ]);
  });

  it('caches nothing with LIST_CACHE_BYTES=0', async () => {
    const cache = cacheOf(0);
    await collect(cache, '/long');
    cache.add('etag', '/', Buffer.from('[]'));
    expect([cache.get('etag', '/long'), cache.get('etag', '/'), cache.bytes]).toEqual([undefined, undefined, 0]);
  });
});
