import type { Mutant } from './program/mutant.js';

const LISTS = ['test/resource/lists.e2e-spec.ts'];
const LEFT = 'after readers have left half-way is';
const CACHE = 'the cache of lists';

const mutants: readonly Mutant[] = [
  {
    id: 'half-read-list-is-cached',
    file: 'src/resource/lists/json-array.ts',
    replace: 'collected(ended ? chunksSoFar : undefined)',
    by: 'collected(chunksSoFar)',
    breaks: 'A list whose reader leaves half-way is never cached as if it were whole.',
    specs: LISTS,
    tests: LEFT,
  },
  {
    id: 'half-read-list-keeps-its-snapshot',
    file: 'src/resource/lists/json-array.ts',
    replace: `collected(ended ? chunksSoFar : undefined);
    close();`,
    by: `collected(ended ? chunksSoFar : undefined);
    if (ended) close();`,
    breaks: 'The snapshot of a list is closed also when its reader leaves half-way.',
    specs: LISTS,
    tests: LEFT,
  },
  {
    id: 'list-timeout-is-ignored',
    file: 'src/resource/lists/json-array.ts',
    replace: 'const deadline = setTimeout(cutOff, timeout);',
    by: 'const deadline = setTimeout(() => undefined, timeout);',
    breaks: 'LIST_TIMEOUT ends a list that is read from the database.',
    specs: LISTS,
    tests: 'cut off after LIST_TIMEOUT',
  },
  {
    id: 'cache-counts-characters',
    file: 'src/resource/lists/json-array.ts',
    replace: 'length += chunk.length;',
    by: 'length += chunk.toString().length;',
    breaks: 'The bounds of the cache are in bytes, not in UTF-16 units.',
    specs: LISTS,
    tests: CACHE,
  },
  {
    id: 'cached-list-ignores-its-query',
    file: 'src/resource/lists/resource-lists.ts',
    replace: `const { url } = request;
    const etag`,
    by: `const url = request.url.split('?')[0]!;
    const etag`,
    breaks: 'Every query has a cached list of its own.',
    specs: LISTS,
    tests: CACHE,
  },
  {
    id: 'cached-list-of-an-old-state',
    file: 'src/resource/lists/list-cache.ts',
    replace: 'return list?.etag === etag ? list : undefined;',
    by: 'return list;',
    breaks: 'After a change no list of the state before is given.',
    specs: LISTS,
    tests: CACHE,
  },
  {
    id: 'stale-lists-are-not-counted',
    file: 'src/resource/lists/list-cache.ts',
    replace: '        if (list.readers > 0) this.staleBytes += list.bytes;\n',
    by: '',
    breaks: 'Lists that are no longer cached, and still read, count towards LIST_CACHE_BYTES.',
    specs: ['src/resource/lists/list-cache.spec.ts'],
  },
  {
    id: 'one-subject-takes-the-whole-queue',
    file: 'src/resource/lists/list-queue.ts',
    replace: 'Math.max(1, listsInProgress - Math.ceil(listsInProgress / 4))',
    by: 'listsInProgress',
    breaks: 'A quarter of the places in the queue of lists is left to others than one subject.',
    specs: ['src/resource/lists/list-queue.spec.ts'],
  },
  {
    id: 'the-quickest-reader-gives-way',
    file: 'src/resource/lists/list-readers.ts',
    replace: 'a.pausedFor(now) >= b.pausedFor(now)',
    by: 'a.pausedFor(now) < b.pausedFor(now)',
    breaks: 'Of several readers the one that has paused longest gives way.',
    specs: ['src/resource/lists/list-readers.spec.ts'],
  },
  {
    id: 'two-addresses-take-all-long-lists',
    file: 'src/resource/lists/list-readers.ts',
    replace: 'crowd.length > ofAddress.length + 1',
    by: 'crowd.length < 0',
    breaks: 'When all places are taken, the address with most readers makes room for others.',
    specs: ['src/resource/lists/list-readers.spec.ts'],
  },
];

export default mutants;
