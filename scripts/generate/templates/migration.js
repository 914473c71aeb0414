export function migration({ plural, all, fields, references, unique, hasTimestamps, ids }, timestamp) {
  const columns = fields.map(({ name, column: ofEntity, columnOptions, columnDefault, isOptional }) => {
    const column = ofEntity === 'simple-json' ? 'text' : ofEntity;
    if (columnOptions === undefined && !isOptional && columnDefault === undefined) return `${name}: '${column}'`;
    const standard = typeof columnDefault === 'string' ? `'${columnDefault}'` : columnDefault;
    const options = { type: column, ...columnOptions, ...(isOptional && { isNullable: true }), default: standard };
    return `${name}: ${JSON.stringify(options)}`;
  });
  const checks = fields.flatMap(({ name, check, checkName, values }) => {
    if (check === undefined) return [];
    // A migration must never change, so it holds the values and not the constant.
    const fixed = values === undefined ? check : `isOneOf('${name}', ${JSON.stringify(values)})`;
    return [`${checkName}: ${fixed}`];
  });
  const parents = references.map(({ name, reference }) => `${name}: '${reference}'`);
  const options = [
    ...(ids === 'uuid' ? [`ids: 'uuid',`] : []),
    `columns: { ${columns.join(', ')} },`,
    ...(checks.length > 0 ? [`checks: { ${checks.join(', ')} },`] : []),
    ...(hasTimestamps ? ['hasTimestamps: true,'] : []),
    ...(unique.length > 0 ? [`unique: ${JSON.stringify(unique)},`] : []),
    ...(parents.length > 0 ? [`references: { ${parents.join(', ')} },`] : []),
  ];
  return `
    import type { MigrationInterface, QueryRunner } from 'typeorm';
    import { hasLength, isBetween, isOneOf } from '../src/resource/resource-entity.js';
    import { createResourceTable, dropResourceTable } from '../src/resource/store/resource-migration.js';

    export class Create${all}${timestamp} implements MigrationInterface {
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
