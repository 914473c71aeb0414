import { constant, pascal } from './names.js';

/**
 * The resource to write, with its names in code and its fields by their roles.
 * @param parsed `singular` and `plural` in lower case, words joined by hyphens; `fields`; `unique`: lists of properties
 * that are unique together; `hasTimestamps`; `ids`: "integer" or "uuid"
 */
export function resourceOf(parsed) {
  const { singular, plural, fields, hasTimestamps } = parsed;
  const enums = fields.filter(({ values }) => values !== undefined);
  const json = fields.filter(({ texts }) => texts !== undefined);
  const types = [...enums, ...json].map(({ type }) => `type ${type}`);
  return {
    ...parsed,
    name: constant(singular),
    type: pascal(singular),
    all: pascal(plural),
    enums,
    json,
    references: fields.filter(({ reference }) => reference !== undefined),
    writable: fields.filter(({ isReadOnly }) => !isReadOnly),
    // Whether records have properties that the service sets.
    hasOwnState: hasTimestamps || fields.some(({ isReadOnly }) => isReadOnly),
    // All names in `<singular>.values.ts`, for an import.
    values: [constant(singular), ...enums.map(({ valuesName }) => valuesName), ...types].join(', '),
  };
}
