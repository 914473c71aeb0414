import type { Mutant } from './program/mutant.js';

const COOKIES = ['test/cookies.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'weak-tags-match-strongly',
    file: 'src/resource/preconditions.ts',
    replace: "hasEntityTag(this.ifMatch, etagOf(version), 'strong')",
    by: "hasEntityTag(this.ifMatch, etagOf(version), 'weak')",
    breaks: 'A weak entity tag in If-Match is 412 (RFC 9110 section 13.1.1).',
    specs: COOKIES,
  },
  {
    id: 'if-none-match-is-ignored-by-writes',
    file: 'src/resource/preconditions.ts',
    replace: `    this.checkIfMatch(version);
    if (this.ifNoneMatch !== undefined`,
    by: `    this.checkIfMatch(version);
    if (this.ifNoneMatch === ''`,
    breaks: 'A write with an If-None-Match that has the ETag is 412 (RFC 9110 section 13.1.2).',
    specs: COOKIES,
  },
  {
    id: 'if-match-is-never-required',
    file: 'src/resource/preconditions.ts',
    replace: 'if (required && this.ifMatch === undefined)',
    by: "if (required && this.ifMatch === '')",
    breaks: 'REQUIRE_IF_MATCH=true makes a write without If-Match 428.',
    specs: COOKIES,
  },
  {
    id: 'link-forgets-the-filters',
    file: 'src/resource/lists/page.ts',
    replace: '<${url.pathname}${url.search}>',
    by: '<${url.pathname}?after=${last}>',
    breaks: 'The link to the next page has the query of this one.',
    specs: COOKIES,
  },
  {
    id: 'total-of-filtered-lists',
    file: 'src/resource/lists/list-query.ts',
    replace: '.some((values) => values !== undefined)',
    by: '.every((values) => values !== undefined)',
    breaks: 'A filtered list has no X-Total-Count: the number of all would be wrong.',
    specs: COOKIES,
  },
  {
    id: 'descending-pages-begin-after-nothing',
    file: 'src/resource/store/resource-snapshot.ts',
    replace: '  return after || LARGEST_ID + 1;',
    by: '  return after ?? LARGEST_ID + 1;',
    breaks: 'after=0 begins at the beginning in both directions.',
    specs: COOKIES,
  },
  {
    id: 'lists-end-at-a-full-page',
    file: 'src/resource/store/resource-snapshot.ts',
    replace: '      if (page.count < PAGE) return;',
    by: '      if (page.count <= PAGE) return;',
    breaks: 'A list of more than 1 000 records has all of them.',
    specs: [...COOKIES, 'test/resource/filtered-lists.e2e-spec.ts', 'test/http/overload.e2e-spec.ts'],
  },
  {
    id: 'unchanged-records-change-their-version',
    file: 'src/resource/store/resource-transaction.ts',
    replace: 'if (value === undefined || isEqual(value, record[property])) continue;',
    by: 'if (value === undefined) continue;',
    breaks: 'A PUT that changes nothing leaves the ETag as it is.',
    specs: COOKIES,
  },
  {
    id: 'conditions-are-checked-on-an-old-state',
    file: 'src/resource/store/resource-transaction.ts',
    replace: 'const record = rejection === undefined && current &&',
    by: 'const record = current &&',
    breaks: 'A PUT whose If-Match no longer holds is 412.',
    specs: COOKIES,
  },
  {
    id: 'ids-may-have-leading-zeros',
    file: 'src/http/validation/parse-natural.ts',
    replace: '^(?:0|[1-9][0-9]{0,15})$',
    by: '^[0-9]{1,16}$',
    breaks: 'One record has one path: /cookies/01 is 400.',
    specs: COOKIES,
  },
  {
    id: 'wish-is-counted-in-utf-16',
    file: 'src/http/validation/is-code-point-length.decorator.ts',
    replace: 'return length >= min && length <= max;',
    by: 'return value.length >= min && value.length <= max;',
    breaks: 'A wish may have 255 emoji.',
    specs: COOKIES,
  },
  {
    id: 'invalid-utf-8-is-replaced',
    file: 'src/http/body/raw-body.ts',
    replace: "    if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8');\n",
    by: '',
    breaks: 'A body that is not UTF-8 is 400: nothing is stored that was not sent.',
    specs: COOKIES,
  },
  {
    id: 'unknown-parameters-are-ignored',
    file: 'src/http/validation/query.guard.ts',
    replace: '!declared.has(name)',
    by: '!declared.has(name) && name.length === 1',
    breaks: 'A misspelt parameter is 400.',
    specs: [...COOKIES, 'test/auth/auth.e2e-spec.ts'],
  },
];

export default mutants;
