import type { Mutant } from './program/mutant.js';

const STORE = ['test/resource/resource-store.e2e-spec.ts'];
const SORTED = ['test/resource/sorted-lists.e2e-spec.ts'];
const PARCELS = ['test/resource/parcels.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'one-rejected-record-fails-its-batch',
    file: 'src/resource/store/resource-repository.ts',
    replace: 'items.length === 1 || !isOfOne',
    by: 'items.length >= 1 || !isOfOne',
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
    id: 'imported-lines-are-not-validated',
    file: 'src/resource/lines/record-reader.ts',
    replace: 'const record = await this.validate(value);',
    by: 'const record = value as object;',
    breaks: 'An import stores nothing that POST rejects.',
    specs: ['test/cli/cli-import.e2e-spec.ts'],
  },
  {
    id: 'sorted-pages-skip-ties',
    file: 'src/resource/store/sorted-pages.ts',
    replace: '    add([`${name} = ${placeholder}`, ...range.sql, `id ${beyond} ?`], [...parameters, after.id]);\n',
    by: '',
    breaks: 'Records of the same value are on the pages before and after the boundary, none is missed.',
    specs: SORTED,
    tests: 'in pages as whole',
  },
  {
    id: 'sorts-need-no-id-in-their-index',
    file: 'src/resource/store/sort-index.ts',
    replace: " && second?.propertyName === 'id'",
    by: ' && second !== null',
    breaks: 'The start rejects a sort by a column that has no index together with the id.',
    specs: SORTED,
    tests: 'a sort without an index',
  },
  {
    id: 'ranges-exclude-their-end',
    file: 'src/resource/store/selection.ts',
    replace: "['to', '<=']",
    by: "['to', '<']",
    breaks: 'A range has both of its bounds.',
    specs: SORTED,
    tests: 'with what is within the bounds',
  },
  {
    id: 'cursors-of-any-spelling',
    file: 'src/resource/lists/cursor.ts',
    replace: 'return cursorOf(property, position) === cursor ? position : undefined;',
    by: 'return position;',
    breaks: 'A cursor of another property, or that the service has not written, is 400.',
    specs: SORTED,
    tests: 'as `after`',
  },
];

export default mutants;
