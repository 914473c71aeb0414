import { referencesOf, writableOf } from '../resource.js';

/** @typedef {import('../fields.js').Field} Field */
/** @typedef {import('../resource.js').Resource} Resource */

/** Source code of a value; repeats a long string of one letter by a call. @param {unknown} value */
const literal = (value) =>
  typeof value === 'string' && /^x{30,}$/.test(value) ? `'x'.repeat(${value.length})` : JSON.stringify(value);

/** An object literal with a property for each field. @param {Field[]} fields @param {(field: Field) => string} valueOf */
const object = (fields, valueOf) => `{ ${fields.map((field) => `${field.name}: ${valueOf(field)}`).join(', ')} }`;

/** @param {readonly unknown[]} values */
const list = (values) => `[${values.map(literal).join(', ')}]`;

/** @param {Resource} resource @param {readonly string[]} parents resources that its records need, parents first */
export function spec({ plural, fields: all }, parents) {
  const fields = writableOf(all);
  const references = referencesOf(fields);
  const filters = fields.filter(({ values, reference }) => (values ?? reference) !== undefined);
  const isPlain = parents.join() === references.map(({ reference }) => reference).join();
  return `
    import { describeResource } from './support/resource/describe-resource.js';

    describeResource({
      path: '/${plural}',
      create: ${object(fields, ({ sample }) => literal(sample))},
      replace: ${object(fields, ({ other }) => literal(other))},
      patch: ${object(fields.slice(0, 2), ({ other }) => literal(other))},
      invalid: ${object(fields, ({ invalid }) => list(invalid))},
      ${filters.length > 0 ? `filters: ${object(filters, ({ sample, other }) => list([sample, other]))},` : ''}
      ${references.length > 0 ? `references: ${object(references, ({ reference }) => `'/${reference}'`)},` : ''}
      ${isPlain ? '' : `parents: ${list(parents.map((parent) => `/${parent}`))},`}
    });`;
}

/** The spec for PostgreSQL. @param {Resource} resource */
export const specOnPostgres = ({ plural }) => `
  import { usePostgres } from '../support/engine.js';

  usePostgres();
  await import('../${plural}.e2e-spec.js');
`;
