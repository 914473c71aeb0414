import { constant } from './names.js';
import { valuesOf } from './fields.js';

/**
 * The resource to write.
 * @typedef {object} Resource
 * @property {string} singular in lower case, words joined by hyphens
 * @property {string} plural
 * @property {Field[]} fields
 * @property {string[][]} unique names of properties that are unique together
 * @property {boolean} hasTimestamps
 * @property {'integer' | 'uuid'} ids
 * @property {ReadonlyMap<string, { entity: string, ids: 'integer' | 'uuid' }>} known existing resources, by their plural names
 */

/** Fields that clients may write. */
export const writableOf = (fields) => fields.filter(({ isReadOnly }) => !isReadOnly);
/** Whether records have properties that the service sets. */
export const hasOwnState = ({ fields, hasTimestamps }) => hasTimestamps || fields.some(({ isReadOnly }) => isReadOnly);
export const enumsOf = (fields) => fields.filter(({ values }) => values !== undefined);
/** Whether a field refers to a resource whose ids are UUIDs. */
export const refersToUuid = ({ reference, column }) => reference !== undefined && column === 'uuid';
export const jsonOf = (fields) => fields.filter(({ texts }) => texts !== undefined);
export const referencesOf = (fields) => fields.filter(({ reference }) => reference !== undefined);

/** The default of a column. TypeORM compares the default of a decimal as a number. */
export const defaultOf = ({ column, initial }) =>
  column === 'decimal' && initial !== undefined ? Number(initial) : initial;

export const checkOf = (plural, name) => `${plural.replaceAll('-', '_')}_${name}`;

/** The import of all names in `<singular>.values.ts`. */
export function valuesImport({ singular, fields }, folder) {
  const enums = enumsOf(fields);
  const values = enums.map(({ name }) => valuesOf(singular, name));
  const types = [...enums, ...jsonOf(fields)].map(({ type }) => `type ${type}`);
  return `import { ${[constant(singular), ...values, ...types].join(', ')} } from '${folder}${singular}.values.js';`;
}
