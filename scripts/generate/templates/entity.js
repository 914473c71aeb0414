import { importsOf } from '../imports.js';
import { pascal, words } from '../names.js';
import { checkOf, valuesImport } from '../resource.js';

/** @typedef {import('../resource.js').Resource} Resource */

/** @param {Resource} resource */
export function entity({ singular, plural, fields, known }) {
  const checks = fields.flatMap(({ name, check }) => (check ? [`@Check('${checkOf(plural, name)}', ${check})`] : []));
  const columns = fields.map(({ name, type, column, reference, isOptional }) => {
    if (reference !== undefined) return `@References('${known.get(reference)?.entity}')\n${name}!: number;`;
    if (isOptional) return `@Column('${column}', { nullable: true })\n${name}?: ${type} | null;`;
    return `@Column('${column}')\n${name}!: ${type};`;
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
