import type { Mutant } from './program/mutant.js';

const CAPACITY = ['test/resource/capacity.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'one-record-too-many',
    file: 'src/resource/usage/usage-counter.ts',
    replace: 'used <= ${this.capacity - count}',
    by: 'used <= ${this.capacity - count + 1}',
    breaks: 'The storage never holds a record more than its capacity.',
    specs: CAPACITY,
  },
  {
    id: 'full-batch-rejects-all',
    file: 'src/resource/usage/usage-counter.ts',
    replace: '    while (versions.length < count) {',
    by: '    while (versions.length < 0) {',
    breaks: 'Of creates that wait together, as many are stored as have room.',
    specs: ['test/resource/resource-store.e2e-spec.ts'],
    tests: 'creates that wait together',
  },
  {
    id: 'deletes-give-no-room-back',
    file: 'src/resource/usage/usage-counter.ts',
    replace: 'SET used = used - ${count}, revision',
    by: 'SET used = used - 0 * ${count}, revision',
    breaks: 'A delete makes room for one record.',
    specs: CAPACITY,
  },
  {
    id: 'deletes-keep-the-revision',
    file: 'src/resource/usage/usage-counter.ts',
    replace: 'SET used = used - ${count}, revision = revision + ${count}',
    by: 'SET used = used - ${count}, revision = revision + 0 * ${count}',
    breaks: 'The ETag of the list changes with every delete.',
    specs: ['test/cookies.e2e-spec.ts'],
  },
  {
    id: 'updates-keep-the-revision',
    file: 'src/resource/usage/usage-counter.ts',
    replace: 'UPDATE storage SET revision = revision + ${count}',
    by: 'UPDATE storage SET revision = revision + 0 * ${count}',
    breaks: 'The ETag of a record changes with every change.',
    specs: ['test/cookies.e2e-spec.ts'],
  },
  {
    id: 'missing-row-is-full',
    file: 'src/resource/usage/usage-counter.ts',
    replace: '      await this.usage(transaction);\n',
    by: '',
    breaks: 'A resource without its row in `storage` is a 500 that says what to do, never 507.',
    specs: ['test/resource/counted-resources.e2e-spec.ts'],
  },
  {
    id: 'cascades-are-accepted',
    file: 'src/resource/usage/cascade-check.ts',
    replace: "new Set(['CASCADE', 'SET NULL', 'SET DEFAULT'])",
    by: "new Set(['SET NULL', 'SET DEFAULT'])",
    breaks: 'A cascade that deletes records of a counted resource stops the start.',
    specs: ['test/resource/counted-resources.e2e-spec.ts'],
  },
  {
    id: 'recount-of-nothing',
    file: 'src/resource/usage/stored-count.ts',
    replace: 'SELECT count(*) FROM ${table.name}) WHERE resource = ? RETURNING used',
    by: 'SELECT count(*) FROM ${table.name}) WHERE resource <> ? RETURNING used',
    breaks: '`doctor --fix` sets the counter of the resource to the number of its records.',
    specs: ['test/resource/self-check.e2e-spec.ts'],
  },
];

export default mutants;
