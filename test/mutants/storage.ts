import type { Mutant } from './program/mutant.js';

const CAPACITY = ['test/capacity.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'one-record-too-many',
    file: 'src/storage/resource-storage.ts',
    replace: 'used <= ${this.capacity - count}',
    by: 'used <= ${this.capacity - count + 1}',
    breaks: 'The storage never holds a record more than its capacity.',
    specs: CAPACITY,
  },
  {
    id: 'full-batch-rejects-all',
    file: 'src/storage/resource-storage.ts',
    replace: '    while (versions.length < count) {',
    by: '    while (versions.length < 0) {',
    breaks: 'Of creates that wait together, as many are stored as have room.',
    specs: ['test/resource-store.e2e-spec.ts'],
    tests: 'creates that wait together',
  },
  {
    id: 'deletes-give-no-room-back',
    file: 'src/storage/resource-storage.ts',
    replace: 'SET used = used - 1, revision',
    by: 'SET used = used - 0, revision',
    breaks: 'A delete makes room for one record.',
    specs: CAPACITY,
  },
  {
    id: 'deletes-keep-the-revision',
    file: 'src/storage/resource-storage.ts',
    replace: 'SET used = used - 1, revision = revision + 1',
    by: 'SET used = used - 1, revision = revision + 0',
    breaks: 'The ETag of the list changes with every delete.',
    specs: ['test/cookies.e2e-spec.ts'],
  },
  {
    id: 'updates-keep-the-revision',
    file: 'src/storage/resource-storage.ts',
    replace: `      UPDATE storage SET revision = revision + 1
`,
    by: `      UPDATE storage SET revision = revision + 0
`,
    breaks: 'The ETag of a record changes with every change.',
    specs: ['test/cookies.e2e-spec.ts'],
  },
  {
    id: 'batches-share-a-revision',
    file: 'src/storage/resource-storage.ts',
    replace: 'last.revision - count + 1 + index',
    by: 'last.revision',
    breaks: 'Creates that wait together each get the id of their own record.',
    specs: ['test/cookies.e2e-spec.ts', 'test/capacity.e2e-spec.ts', 'test/data-layer.e2e-spec.ts'],
  },
  {
    id: 'missing-row-is-full',
    file: 'src/storage/resource-storage.ts',
    replace: '      await this.usage(transaction);\n',
    by: '',
    breaks: 'A resource without its row in `storage` is a 500 that says what to do, never 507.',
    specs: ['test/counted-resources.e2e-spec.ts'],
  },
  {
    id: 'ready-without-a-row',
    file: 'src/storage/resource-storage.ts',
    replace: '    this.hasRow = false;\n    return new Error(',
    by: '    return new Error(',
    breaks: 'A service whose resource has lost its row in `storage` is not ready.',
    specs: ['test/counted-resources.e2e-spec.ts'],
  },
  {
    id: 'drifted-counter-is-not-said',
    file: 'src/storage/count-check.ts',
    replace: 'found === undefined || found.used === found.count',
    by: 'found === undefined || found.used >= found.count',
    breaks: 'A counter that does not agree with the records is said after the start.',
    specs: ['test/counted-resources.e2e-spec.ts', 'test/self-check.e2e-spec.ts'],
  },
  {
    id: 'count-in-pieces-misses-one',
    file: 'src/storage/stored-count.ts',
    replace: 'LIMIT 1 OFFSET ${piece - 1}',
    by: 'LIMIT 1 OFFSET ${piece}',
    breaks: 'Records are counted exactly where there are more than one statement counts.',
    specs: ['test/self-check.e2e-spec.ts', 'test/counted-resources.e2e-spec.ts'],
  },
  {
    id: 'cascades-are-accepted',
    file: 'src/storage/foreign-keys.ts',
    replace: "new Set(['CASCADE', 'SET NULL', 'SET DEFAULT'])",
    by: "new Set(['SET NULL', 'SET DEFAULT'])",
    breaks: 'A cascade that deletes records of a counted resource stops the start.',
    specs: ['test/counted-resources.e2e-spec.ts'],
  },
  {
    id: 'recount-of-nothing',
    file: 'src/storage/stored-count.ts',
    replace: 'SELECT count(*) FROM ${table.name}) WHERE resource = ? RETURNING used',
    by: 'SELECT count(*) FROM ${table.name}) WHERE resource <> ? RETURNING used',
    breaks: '`doctor --fix` sets the counter of the resource to the number of its records.',
    specs: ['test/self-check.e2e-spec.ts'],
  },
];

export default mutants;
