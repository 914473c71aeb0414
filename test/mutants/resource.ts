import type { Mutant } from './program/mutant.js';

const STORE = ['test/resource-store.e2e-spec.ts'];
const PARCELS = ['test/parcels.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'absent-values-are-zero-in-lists',
    file: 'src/resource/store/column-json.ts',
    replace: `IS NULL THEN 'null' ELSE`,
    by: `IS NULL THEN '0' ELSE`,
    breaks: 'A property without a value is null in lists, as in the record alone.',
    specs: STORE,
  },
  {
    id: 'every-check-makes-strings-plain',
    file: 'src/resource/store/record-columns.ts',
    replace: 'PLAIN_WORDS.exec(expression)?.[1] === databaseName',
    by: 'expression.includes(databaseName)',
    breaks: 'Only strings that a CHECK restricts to plain words come into lists unescaped.',
    specs: PARCELS,
    tests: 'the list has the same',
  },
  {
    id: 'one-rejected-record-fails-its-batch',
    file: 'src/resource/store/resource-store.ts',
    replace: 'records.length === 1 || !(error',
    by: 'records.length >= 1 || !(error',
    breaks: 'A record that the database rejects fails alone among those that are created with it.',
    specs: STORE,
    tests: 'stores what is right among',
  },
  {
    id: 'restricted-deletes-are-failures',
    file: 'src/database/constraint-violation.ts',
    replace: "code === 'SQLITE_CONSTRAINT_TRIGGER' &&",
    by: "code === '' &&",
    breaks: 'The deletion of a record to which a RESTRICT key refers is 409, not 500.',
    specs: PARCELS,
    tests: 'of the record that it names 409',
  },
  {
    id: 'inherited-parameters-come-last',
    file: 'src/http/validation/dto-properties.ts',
    replace: 'return [...inherited, ...all.filter(({ target }) => target === dto)];',
    by: 'return [...all.filter(({ target }) => target === dto), ...inherited];',
    breaks: 'Errors name the parameters of a list in the order of the document.',
    specs: PARCELS,
    tests: 'in the order of the document',
  },
  {
    id: 'quick-rules-pass-long-strings',
    file: 'src/resource/lines/column-rules.ts',
    replace: 'value.length <= max &&',
    by: 'value.length <= 2 * max &&',
    breaks: 'An import stores nothing that POST rejects.',
    specs: ['src/cookies/cookie.resource.spec.ts'],
  },
];

export default mutants;
