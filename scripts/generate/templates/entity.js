import { pascal, words } from '../names.js';
import { checkOf, defaultOf, refersToUuid, valuesImport } from '../resource.js';

export function entity({ singular, plural, fields, known, unique, hasTimestamps, ids }) {
  const checks = fields.flatMap(({ name, check }) => (check ? [`@Check('${checkOf(plural, name)}', ${check})`] : []));
  const indices = unique.map((names) => `@Index(${JSON.stringify(names)}, { unique: true })`);
  const columns = fields.map((field) => {
    const { name, type, column, columnOptions = {}, reference, isOptional, initial } = field;
    const options = {
      ...columnOptions,
      ...(isOptional && { nullable: true }),
      default: defaultOf({ column, initial }),
    };
    const json = JSON.stringify(options);
    const given = refersToUuid(field) ? json.replace('{', '{ ids: UUID_IDS, ') : json;
    const all = [
      `'${reference === undefined ? column : known.get(reference)?.entity}'`,
      ...(given === '{}' ? [] : [given]),
    ];
    // The engines name the type of an instant differently.
    if (type === 'Date') all.splice(0, 2, `{ type: Date${isOptional ? ', nullable: true' : ''} }`);
    const decorator = `@${reference === undefined ? 'Column' : 'References'}(${all.join(', ')})`;
    return `${decorator}\n${isOptional ? `${name}?: ${type} | null` : `${name}!: ${type}`};`;
  });
  if (hasTimestamps) columns.push('@CreateDateColumn()\ncreatedAt!: Date;', '@UpdateDateColumn()\nupdatedAt!: Date;');
  return `
    import { Check, Column, CreateDateColumn, Entity, Index, UpdateDateColumn } from 'typeorm';
    import { UUID_IDS } from '../resource/id-kinds.js';
    import {
      hasLength, isBetween, isOneOf, References, ResourceEntity, UuidResourceEntity,
    } from '../resource/resource-entity.js';
    ${valuesImport({ singular, fields }, './')}

    /** A stored ${words(singular)}. The checks repeat the validation, for other programs that write to the database. */
    @Entity('${plural}')
    ${[...checks, ...indices].join('\n')}
    export class ${pascal(singular)} extends ${ids === 'uuid' ? 'UuidResourceEntity' : 'ResourceEntity'} {
      ${columns.join('\n\n')}
    }`;
}
