import { TEXT_PATTERN } from '../../../src/http/validation/property-decorators.js';

/** Resolves a `$ref` to its schema. */
export type Resolve = (schema: any) => any;

/** A value that a property must not have. */
export interface WrongValue {
  /** Pointer to the wrong value, relative to the property; longer inside nested JSON. */
  readonly pointer: string;
  readonly value: unknown;
  /** Whether the JSON Schema accepts the value, such as 29 February of a year without it. */
  readonly isBeyondSchema?: true;
}

/** A value as a client may send it, and as it is stored. */
export type Spelling = readonly [sent: unknown, stored: unknown];

const TRICKY = 'Ada "the first" \\ 🍪\u2028é\u0301\n\t<&>%_';
const DAYS = ['2026-01-31', '2028-02-29', '0001-01-01', '9999-12-31', '2000-02-29'] as const;
const MOMENTS = ['2026-01-31T12:00:00.000Z', '2026-11-01T01:30:00.123Z'] as const;
const UUIDS = ['01999999-0000-7000-8000-00000000000a', '01999999-0000-7000-8000-00000000000b'] as const;

const WRONG_DAYS = [
  ...['2026-02-30', '2026-04-31', '2026-13-01', '2026-00-10', '2026-1-31', '0000-01-01', '10000-01-01', '-0001-01-01'],
  ...['+010000-01-01', '20260131', '2026-01-31T00:00:00Z', ' 2026-01-31', '2026-01-31\n', '٢٠٢٦-٠١-٣١', 'today', ''],
];
const WRONG_MOMENTS = [
  ...['2026-01-31', '2026-02-30T12:00:00Z', '2026-01-31T12:00:00', '0000-01-01T00:00:00Z', '10000-01-01T00:00:00Z'],
  ...['+010000-01-01T00:00:00Z', '2026-01-31T24:00:00Z', '2026-01-31T12:60:00Z', '2016-12-31T23:59:60Z', '1e3', ''],
  ...['2026-01-31T12:00:00.0001Z', '2026-01-31t12:00:00Z', '2026-01-31T12:00:00z', '2026-01-31 12:00:00Z', 'now'],
  ...['2026-01-31T12:00:00+24:00', '2026-01-31T12:00:00+0100', '2026-01-31T12:00Z', '1767225600000'],
];
const WRONG_UUIDS = [
  ...['01999999000070008000000000000001', '01999999-0000-7000-8000-00000000000', 'x', ''],
  ...['{ID}', 'urn:uuid:ID', ' ID', 'ID\n'].map((text) => text.replace('ID', '01999999-0000-7000-8000-000000000001')),
  '0199999g-0000-7000-8000-000000000001',
];
/** Texts that are no number in any parameter or property. */
export const NO_NUMBERS = ['', ' 1', '1 ', ...'x -0 -0.0 -0.00 1e3 1. .5 01 +1 1,5 0x1 NaN Infinity ١'.split(' ')];
const WRONG_TEXTS = ['\0', 'a\0b', 'a\ud83cb', '\udf6a', '\udf6a\ud83c'];

/** The schema without the alternative `null`; an enum with a default is taken out of its `allOf`. */
export function ofValue(schema: any, resolve: Resolve): any {
  const { oneOf, allOf, ...others } = resolve(schema);
  const [first] = oneOf ?? allOf ?? [];
  return first === undefined ? others : { ...resolve(first), ...others };
}

/** Two different valid values; the second is `undefined` if the schema has only one example. */
export function validValues(property: any, resolve: Resolve): readonly [unknown, unknown] {
  const schema = ofValue(property, resolve);
  const { type, format, example, minimum, maximum } = schema;
  if (schema.enum !== undefined) return schema.enum.filter((value: unknown) => value !== null);
  if (type === 'boolean') return [true, false];
  if (type === 'object') {
    const values = Object.entries(schema.properties).map(([name, each]) => [name, validValues(each, resolve)] as const);
    const at = (index: 0 | 1) => Object.fromEntries(values.map(([name, pair]) => [name, pair[index] ?? pair[0]]));
    return [at(0), at(1)];
  }
  if (type === 'integer' || type === 'number') {
    const [one, other] = new Set([example, minimum, maximum, 1, 2].filter((value) => value !== undefined));
    return [one, other];
  }
  switch (format) {
    case 'date':
      return [DAYS[0], DAYS[1]];
    case 'date-time':
      return MOMENTS;
    case 'uuid':
      return UUIDS;
    case 'decimal':
      return [1, 2].map((value) => (value + Math.max(schema['x-minimum'] ?? 0, 0)).toFixed(scaleOf(schema))) as [
        string,
        string,
      ];
  }
  if (schema.pattern !== TEXT_PATTERN) return [example, undefined];
  return [fitting(TRICKY, schema), fitting(`Other ${TRICKY}`, schema)];
}

const fitting = (text: string, { minLength = 0, maxLength = Infinity }: any): string =>
  [...text].slice(0, maxLength).join('').padEnd(minLength, 'x');

const scaleOf = ({ example }: any): number => String(example).split('.')[1]?.length ?? 0;

/** Values at the limits of the schema, and other spellings of values. */
export function extremeValues(property: any, resolve: Resolve): Spelling[] {
  const schema = ofValue(property, resolve);
  const same = (...values: unknown[]): Spelling[] =>
    values.filter((value) => value !== undefined).map((value) => [value, value]);
  const nothing = resolve(property).nullable || resolve(property).oneOf ? same(null) : [];
  const { type, format, minimum, maximum, minLength = 1, maxLength = 100 } = schema;
  if (schema.enum !== undefined) return [...nothing, ...same(...schema.enum)];
  if (type === 'boolean') return [...nothing, ...same(true, false)];
  if (type === 'integer' || type === 'number') return [...nothing, ...same(minimum, maximum)];
  if (type === 'object')
    return [...nothing, ...validValues(schema, resolve).flatMap((value) => same(value, reversed(value)))];
  switch (format) {
    case 'date':
      return [...nothing, ...same(...DAYS)];
    case 'uuid':
      return [...nothing, [UUIDS[1].toUpperCase(), UUIDS[1]]];
    case 'date-time':
      return [
        ...nothing,
        ['2026-01-31T13:00:00+01:00', MOMENTS[0]],
        ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
        ['9999-12-31T23:59:59.9Z', '9999-12-31T23:59:59.900Z'],
      ];
    case 'decimal': {
      const least = schema['x-minimum'] ?? -7;
      const values = [least, Math.max(least, 0) + 1];
      return [...nothing, ...values.map((value): Spelling => [String(value), value.toFixed(scaleOf(schema))])];
    }
  }
  if (schema.pattern !== TEXT_PATTERN) return nothing;
  return [...nothing, ...same('x'.repeat(Math.max(minLength, 1)), '🍪'.repeat(Math.min(maxLength, 1000)))];
}

/** Equal JSON with its properties in reverse order. */
const reversed = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).reverse()) : value;

/** Values that the property must not have. */
export function wrongValues(name: string, property: any, resolve: Resolve): WrongValue[] {
  const schema = ofValue(property, resolve);
  const { type, format, minimum, maximum } = schema;
  const pointer = `/${name}`;
  const wrong = (...values: unknown[]): WrongValue[] => values.map((value) => ({ pointer, value }));
  const beyond = (...values: unknown[]): WrongValue[] =>
    values.map((value) => ({ pointer, value, isBeyondSchema: true }));
  const [valid] = validValues(schema, resolve) as [any, unknown];
  if (schema.enum !== undefined) {
    const spellings = [valid.toUpperCase(), valid.toLowerCase(), ` ${valid}`, `${valid}${valid}`];
    return wrong(...[...spellings, '', 'constructor', 0, true].filter((value) => !schema.enum.includes(value)));
  }
  if (type === 'boolean') return wrong('true', 'false', '', 0, 1);
  if (type === 'integer' || type === 'number') {
    const numbers = [maximum + 1, minimum - 1, ...(type === 'integer' ? [valid + 0.5, 1e300] : [])];
    return wrong(...numbers.filter(Number.isFinite), String(valid), '1e3', '', true);
  }
  if (type === 'object') {
    const inner = Object.entries(schema.properties).flatMap(([each, ofEach]) =>
      wrongValues(each, ofEach, resolve).map((one) => ({
        ...one,
        pointer: pointer + one.pointer,
        value: { ...valid, [each]: one.value },
      })),
    );
    const unknown = { pointer: `${pointer}/unknownProperty`, value: { ...valid, unknownProperty: 1 } };
    const missing = (schema.required ?? []).map((each: string) => ({
      pointer: `${pointer}/${each}`,
      value: Object.fromEntries(Object.entries(valid).filter(([other]) => other !== each)),
    }));
    const others = wrong('x', 1, true, [valid], JSON.stringify(valid));
    return [...others, ...inner, ...missing, { ...unknown, isBeyondSchema: true }];
  }
  switch (format) {
    case 'date':
      return [...wrong(...WRONG_DAYS, 1, true), ...beyond('2026-02-29', '1900-02-29')];
    case 'uuid':
      return wrong(...WRONG_UUIDS, 1, true);
    case 'date-time':
      return [
        ...wrong(...WRONG_MOMENTS, 1, true),
        ...beyond('2026-02-29T12:00:00Z', '0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01'),
      ];
    case 'decimal': {
      const least = schema['x-minimum'];
      const less = least === undefined ? [] : [String(least - 1)];
      const ofLess = new RegExp(schema.pattern).test(less[0] ?? '') ? beyond(...less) : wrong(...less);
      const tooLong = [`1.${'0'.repeat(scaleOf(schema) + 1)}`, '1'.repeat(16)];
      return [...wrong(...NO_NUMBERS, ...tooLong, 1, 0.5, true), ...ofLess];
    }
  }
  if (schema.pattern !== TEXT_PATTERN) return wrong(1, true);
  const { minLength, maxLength } = schema;
  const lengths = ['x'.repeat(maxLength + 1), ...(maxLength < 1000 ? ['🍪'.repeat(maxLength + 1)] : [])];
  if (minLength > 0) lengths.push('x'.repeat(minLength - 1));
  return wrong(...lengths, ...WRONG_TEXTS.map((text) => text.padEnd(minLength, 'x')), 1, true);
}
