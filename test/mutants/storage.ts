import type { Mutant } from './program/mutant.js';

const CAPACITY = ['test/resource/capacity.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'one-record-too-many',
    file: 'src/resource/usage/usage-counter.ts',
    replace: '- used AS free',
    by: '- used + 1 AS free',
    breaks: 'POST is 507 when as many records are stored as may be.',
    specs: ['test/resource/resource-store.e2e-spec.ts'],
  },
  {
    id: 'full-batch-rejects-all',
    file: 'src/resource/store/resource-transaction.ts',
    replace: 'Math.min(records.length, Math.max(usage.free, 0))',
    by: 'records.length > usage.free ? 0 : records.length',
    breaks: 'Of creates that wait together, as many are stored as have room.',
    specs: ['test/resource/resource-store.e2e-spec.ts'],
    tests: 'creates that wait together',
  },
  {
    id: 'deletes-give-no-room-back',
    file: 'src/resource/usage/triggers.ts',
    replace: 'SET used = used - 1, replaced',
    by: 'SET replaced',
    breaks: 'A delete makes room for one record.',
    specs: CAPACITY,
  },
  {
    id: 'inserts-of-others-exceed-the-capacity',
    file: 'src/resource/usage/triggers.ts',
    replace: 'AND used >= capacity',
    by: 'AND used > capacity',
    breaks: 'Other writers of the database cannot store a record more than the capacity.',
    specs: ['test/resource/other-writers.e2e-spec.ts'],
  },
  {
    id: 'replaced-records-are-counted-twice',
    file: 'src/resource/usage/triggers.ts',
    replace: '(replaced IS NOT NEW.id)',
    by: '1',
    breaks: 'REPLACE INTO of another program counts a replaced record once.',
    specs: ['test/resource/other-writers.e2e-spec.ts'],
  },
  {
    id: 'lost-triggers-stay-lost',
    file: 'src/resource/usage/prepare-storage.ts',
    replace: '    await makeTriggers(tx, dataSource, resource);\n',
    by: '',
    breaks: 'The start makes missing triggers and counts the records.',
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
