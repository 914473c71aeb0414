import { pascal } from '../names.js';
import { checkOf, defaultOf, referencesOf } from '../resource.js';

export function migration({ plural, fields, unique, hasTimestamps, ids }, timestamp) {
  const columns = fields.map(({ name, column: ofEntity, columnOptions, isOptional, initial }) => {
    const column = ofEntity === 'simple-json' ? 'text' : ofEntity;
    if (columnOptions === undefined && !isOptional && initial === undefined) return `${name}: '${column}'`;
    const value = defaultOf({ column, initial });
    const standard = typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : value;
    const options = { type: column, ...columnOptions, ...(isOptional && { isNullable: true }), default: standard };
    return `${name}: ${JSON.stringify(options)}`;
  });
  const checks = fields.flatMap(({ name, check, values }) => {
    if (check === undefined) return [];
    // A migration must never change, so it holds the values and not the constant.
    const fixed = values === undefined ? check : `isOneOf('${name}', ${JSON.stringify(values)})`;
    return [`${checkOf(plural, name)}: ${fixed}`];
  });
  const references = referencesOf(fields).map(({ name, reference }) => `${name}: '${reference}'`);
  const options = [
    ...(ids === 'uuid' ? [`ids: 'uuid',`] : []),
    `columns: { ${columns.join(', ')} },`,
    ...(checks.length > 0 ? [`checks: { ${checks.join(', ')} },`] : []),
    ...(hasTimestamps ? ['hasTimestamps: true,'] : []),
    ...(unique.length > 0 ? [`unique: ${JSON.stringify(unique)},`] : []),
    ...(references.length > 0 ? [`references: { ${references.join(', ')} },`] : []),
  ];
  return `
    import type { MigrationInterface, QueryRunner } from 'typeorm';
    import { hasLength, isBetween, isOneOf } from '../src/resource/resource-entity.js';
    import { createResourceTable, dropResourceTable } from '../src/resource/store/resource-migration.js';

    export class Create${pascal(plural)}${timestamp} implements MigrationInterface {
      async up(queryRunner: QueryRunner): Promise<void> {
        await createResourceTable(queryRunner, '${plural}', {
          ${options.join('\n')}
        });
      }

      async down(queryRunner: QueryRunner): Promise<void> {
        await dropResourceTable(queryRunner, '${plural}');
      }
    }`;
}
