import { importOf } from './imports.js';
import { constant } from './names.js';
import { valuesOf } from './fields.js';

/** @typedef {import('./fields.js').Field} Field */

/**
 * The resource to write.
 * @typedef {object} Resource
 * @property {string} singular in lower case, words joined by hyphens
 * @property {string} plural
 * @property {Field[]} fields
 * @property {ReadonlyMap<string, { entity: string }>} known existing resources, by their plural names
 */

/** @param {Field[]} fields */
export const enumsOf = (fields) => fields.filter(({ values }) => values !== undefined);
/** @param {Field[]} fields */
export const referencesOf = (fields) => fields.filter(({ reference }) => reference !== undefined);

/** @param {string} plural @param {string} name */
export const checkOf = (plural, name) => `${plural.replaceAll('-', '_')}_${name}`;

/**
 * The import from `<singular>.values.ts` for a source.
 * @param {string} source
 * @param {Pick<Resource, 'singular' | 'fields'>} resource
 * @param {string} folder
 */
export function valuesImport(source, { singular, fields }, folder) {
  const enums = enumsOf(fields);
  const names = [constant(singular), ...enums.map(({ name }) => valuesOf(singular, name))];
  const types = enums.map(({ type }) => type);
  return importOf(source, `${folder}${singular}.values.js`, names, types);
}
