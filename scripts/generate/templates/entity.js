import { importsOf } from '../imports.js';
import { pascal, words } from '../names.js';
import { checkOf, valuesImport } from '../resource.js';

/** @typedef {import('../resource.js').Resource} Resource */

/** @param {Resource} resource */
export function entity({ singular, plural, fields, known }) {
  const checks = fields.flatMap(({ name, check }) => (check ? [`@Check('${checkOf(plural, name)}', ${check})`] : []));
  const columns = fields.map(({ name, type, column, columnOptions = {}, reference, isOptional }) => {
    const options = { ...columnOptions, ...(isOptional && { nullable: true }) };
    const given = JSON.stringify(options);
    const all = [
      `'${reference === undefined ? column : known.get(reference)?.entity}'`,
      ...(given === '{}' ? [] : [given]),
    ];
    // The engines name the type of an instant differently.
    if (type === 'Date') all.splice(0, 2, `{ type: Date${isOptional ? ', nullable: true' : ''} }`);
    const decorator = `@${reference === undefined ? 'Column' : 'References'}(${all.join(', ')})`;
    return `${decorator}\n${isOptional ? `${name}?: ${type} | null` : `${name}!: ${type}`};`;
  });
  const body = `
    /** A stored ${words(singular)}. The checks repeat the validation, for other programs that write to the database. */
    @Entity('${plural}')
    ${checks.join('\n')}
    export class ${pascal(singular)} extends ResourceEntity {
      ${columns.join('\n\n')}
    }`;
  return `${importsOf(body)}${valuesImport(body, { singular, fields }, './')}\n${body}`;
}
