import type { Mutant } from './program/mutant.js';

const mutants: readonly Mutant[] = [
  {
    id: 'half-read-list-is-cached',
    file: 'src/http/json-array.ts',
    replace: 'collected(ended ? chunksSoFar : undefined)',
    by: 'collected(chunksSoFar)',
    breaks: 'A list whose reader leaves half-way is never cached as if it were whole.',
    specs: ['test/overload.e2e-spec.ts'],
  },
  {
    id: 'half-read-list-keeps-its-snapshot',
    file: 'src/http/json-array.ts',
    replace: `    if (limit > 0) collected(ended ? chunksSoFar : undefined);
    close();`,
    by: `    if (limit > 0) collected(ended ? chunksSoFar : undefined);
    if (ended) close();`,
    breaks: 'The snapshot of a list is closed also when its reader leaves half-way.',
    specs: ['test/overload.e2e-spec.ts'],
  },
  {
    id: 'reader-count-is-not-given-back',
    file: 'src/http/json-array.ts',
    replace: '    readers.leave(reader);\n',
    by: '',
    breaks: 'A list that has ended gives back its place in the count of streams.',
    specs: ['test/overload.e2e-spec.ts'],
  },
];

export default mutants;
