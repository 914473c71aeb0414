import type { Mutant } from './program/mutant.js';

const LISTS = ['test/lists.e2e-spec.ts'];
const LEFT = 'after readers have left half-way is';
const SNAPSHOTS = 'leaves no snapshot open';
const CACHE = 'the cache of lists';
const STALLS = 'that stalls is cut off';

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
    id: 'half-read-list-is-collected-for-ever',
    file: 'src/resource/lists/json-array.ts',
    replace: 'if (limit > 0) collected(ended ? chunksSoFar : undefined);',
    by: 'if (limit > 0 && ended) collected(chunksSoFar);',
    breaks: 'What was being collected for the cache is let go when the reader leaves half-way.',
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
    id: 'reader-is-never-removed',
    file: 'src/resource/lists/json-array.ts',
    replace: '    readers.leave(reader);\n',
    by: '',
    breaks: 'A list that has ended gives back its place in the count of readers.',
    specs: LISTS,
    tests: LEFT,
  },
  {
    id: 'head-keeps-its-snapshot',
    file: 'src/resource/lists/json-array.ts',
    replace: `    if (options.reply.request.method === 'HEAD') {
      options.close();`,
    by: `    if (options.reply.request.method === 'HEAD') {`,
    breaks: 'HEAD of a long list closes its snapshot.',
    specs: LISTS,
    tests: SNAPSHOTS,
  },
  {
    id: 'short-list-keeps-its-snapshot',
    file: 'src/resource/lists/json-array.ts',
    replace: `    if (second.done) {
      options.close();`,
    by: '    if (second.done) {',
    breaks: 'A list of a single page closes its snapshot.',
    specs: LISTS,
    tests: SNAPSHOTS,
  },
  {
    id: 'page-keeps-its-snapshot',
    file: 'src/resource/lists/resource-lists.ts',
    replace: `    } finally {
      snapshot.close();
    }`,
    by: `    } catch (error) {
      snapshot.close();
      throw error;
    }`,
    breaks: 'A page (limit) closes its snapshot.',
    specs: LISTS,
    tests: SNAPSHOTS,
  },
  {
    id: 'list-timeout-is-ignored',
    file: 'src/resource/lists/json-array.ts',
    replace: 'const deadline = setTimeout(cutOff, timeout);',
    by: 'const deadline = setTimeout(() => undefined, timeout);',
    breaks: 'LIST_TIMEOUT ends a list that is read from the database.',
    specs: LISTS,
    tests: STALLS,
  },
  {
    id: 'list-timeout-of-cached-lists-is-in-seconds',
    file: 'src/resource/lists/json-array.ts',
    replace: 'array.destroy(new Error(TOO_SLOW)), timeout);',
    by: 'array.destroy(new Error(TOO_SLOW)), timeout * 1000);',
    breaks: 'LIST_TIMEOUT ends a list that comes from the cache.',
    specs: LISTS,
    tests: STALLS,
  },
  {
    id: 'reading-is-no-progress',
    file: 'src/resource/lists/json-array.ts',
    replace: '      reader.read();\n',
    by: '',
    breaks: 'A reader that reads on keeps its place, whoever waits for it.',
    specs: LISTS,
    tests: 'with one place for long lists',
  },
  {
    id: 'closed-list-keeps-its-chunks',
    file: 'src/resource/lists/list-stream.ts',
    replace: '    this.chunks = undefined;\n',
    by: '',
    breaks: 'An idle connection keeps nothing of the list that it has read.',
    specs: LISTS,
    tests: 'a connection that stays open',
  },
  {
    id: 'cache-counts-chunks',
    file: 'src/resource/lists/json-array.ts',
    replace: 'length += chunk.length;',
    by: 'length += 1;',
    breaks: 'A list that is longer than a quarter of LIST_CACHE_BYTES is not cached.',
    specs: LISTS,
    tests: CACHE,
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
    id: 'cached-page-has-no-link',
    file: 'src/resource/lists/resource-lists.ts',
    replace: "if (cached.link !== undefined) reply.header('link', cached.link);",
    by: '',
    breaks: 'A page from the cache has the link to the next one.',
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
    id: 'cached-list-is-never-released',
    file: 'src/resource/lists/json-array.ts',
    replace: '    cache.release(list);\n',
    by: '',
    breaks: 'The memory of an old list is given back when its last reader leaves.',
    specs: LISTS,
    tests: CACHE,
  },
  {
    id: 'longest-cached-list-is-the-whole-cache',
    file: 'src/resource/lists/list-cache.ts',
    replace: 'Math.floor(maxSize / SHARES)',
    by: 'maxSize',
    breaks: 'One list takes at most a quarter of LIST_CACHE_BYTES.',
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
    id: 'any-number-of-lists-is-collected',
    file: 'src/resource/lists/list-cache.ts',
    replace: 'this.collecting.size >= COLLECTED_AT_ONCE || ',
    by: '',
    breaks: 'At most two lists are collected for the cache at the same time.',
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
    id: 'list-keeps-its-turn',
    file: 'src/resource/lists/list-queue.ts',
    replace: `      this.free += 1;
`,
    by: '',
    breaks: 'A list that has begun, or has failed, gives its place in the queue to the next.',
    specs: ['src/resource/lists/list-queue.spec.ts'],
  },
  {
    id: 'list-is-made-for-one-who-has-left',
    file: 'src/resource/lists/list-queue.ts',
    replace: `      if (request.socket.destroyed) throw overloaded('The client has left before its list could be read');\n`,
    by: '',
    breaks: 'No list is made for a client that has left while it waited for its turn.',
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
    id: 'reader-gives-way-before-it-has-paused',
    file: 'src/resource/lists/list-readers.ts',
    replace: 'if (slowest.pausedFor(now) < PAUSE)',
    by: 'if (slowest.pausedFor(now) < 0)',
    breaks: 'A reader that does not pause is never cut off for a newcomer.',
    specs: [...LISTS, 'src/resource/lists/list-readers.spec.ts'],
    tests: 'with one place for long lists|the readers of long lists',
  },
  {
    id: 'broken-list-is-not-logged',
    file: 'src/resource/lists/json-array.ts',
    replace: 'if (!array.destroyed) failed(error, length);',
    by: '',
    breaks: 'A list that breaks off is logged with its cause.',
    specs: ['test/error-log.e2e-spec.ts'],
    tests: 'with a damaged page',
  },
];

export default mutants;
