import { words } from '../names.js';

export function entity({ singular, plural, type: className, values, fields, unique, hasTimestamps, ids }) {
  const checks = fields.flatMap(({ check, checkName }) => (check ? [`@Check('${checkName}', ${check})`] : []));
  // `@References` makes the index of its column.
  const isOfReference = (names) => fields.some(({ name, parent }) => parent !== undefined && name === names.join());
  const indices = unique
    .filter((names) => !isOfReference(names))
    .map((names) => `@Index(${JSON.stringify(names)}, { unique: true })`);
  const columns = fields.map(({ name, type, column, columnOptions, columnDefault, parent, isOptional }) => {
    const isUnique = parent !== undefined && unique.some((names) => names.join() === name);
    const options = {
      ...columnOptions,
      ...(isOptional && { nullable: true }),
      ...(isUnique && { unique: true }),
      default: columnDefault,
    };
    const json = JSON.stringify(options);
    const given = parent?.ids === 'uuid' ? json.replace('{', '{ ids: UUID_IDS, ') : json;
    const all = [`'${parent?.entity ?? column}'`, ...(given === '{}' ? [] : [given])];
    // The engines name the type of an instant differently.
    if (type === 'Date') all.splice(0, 2, `{ type: Date${isOptional ? ', nullable: true' : ''} }`);
    const decorator = `@${parent === undefined ? 'Column' : 'References'}(${all.join(', ')})`;
    return `${decorator}\n${isOptional ? `${name}?: ${type} | null` : `${name}!: ${type}`};`;
  });
  if (hasTimestamps) columns.push('@CreateDateColumn()\ncreatedAt!: Date;', '@UpdateDateColumn()\nupdatedAt!: Date;');
  return `
    import { Check, Column, CreateDateColumn, Entity, Index, UpdateDateColumn } from 'typeorm';
    import { UUID_IDS } from '../resource/id-kinds.js';
    import {
      hasLength, isBetween, isOneOf, References, ResourceEntity, UuidResourceEntity,
    } from '../resource/resource-entity.js';
    import { ${values} } from './${singular}.values.js';

    /** A stored ${words(singular)}. The checks repeat the validation, for other programs that write to the database. */
    @Entity('${plural}')
    ${[...checks, ...indices].join('\n')}
    export class ${className} extends ${ids === 'uuid' ? 'UuidResourceEntity' : 'ResourceEntity'} {
      ${columns.join('\n\n')}
    }`;
}
