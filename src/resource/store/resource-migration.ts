import { type QueryRunner, Table, type TableColumnOptions } from 'typeorm';
import { idKindOf, IS_UUID } from '../id-kinds.js';
import { dropAuditTriggers } from '../audit/audit-triggers.js';
import { dropTriggers, makeTriggers } from '../usage/triggers.js';

/** The table of a resource, without the columns `id` and `revision`. */
export interface ResourceTableOptions {
  /** As in the entity: integers of a sequence (default), or UUIDs, which the service makes. */
  readonly ids?: 'integer' | 'uuid';
  /** Columns by name: a type or options. A column is NOT NULL unless `isNullable` is set. */
  readonly columns: Readonly<Record<string, string | Omit<TableColumnOptions, 'name'>>>;
  /** Whether there are the columns of `@CreateDateColumn() createdAt` and `@UpdateDateColumn() updatedAt`. */
  readonly hasTimestamps?: boolean;
  readonly checks?: Readonly<Record<string, string>>;
  /** Referenced tables by column, equal to `@References` in the entity. */
  readonly references?: Readonly<Record<string, string>>;
  /** Columns of each index, equal to `@Index` in the entity: `['quantity', 'id']` allows sorting by quantity. */
  readonly indices?: readonly (readonly string[])[];
  /** Columns that are unique together, as in `@Index(['row', 'seat'], { unique: true })`: `[['row', 'seat']]`. */
  readonly unique?: readonly (readonly string[])[];
}

/** Creates the table of a resource, its `storage` row and the triggers that update the row; for `up` of a migration. */
export async function createResourceTable(
  queryRunner: QueryRunner,
  name: string,
  {
    ids = 'integer',
    columns,
    checks = {},
    references = {},
    indices = [],
    unique = [],
    hasTimestamps = false,
  }: ResourceTableOptions,
): Promise<void> {
  const table = new Table({
    name,
    columns: [
      ids === 'uuid'
        ? { name: 'id', type: 'uuid', isPrimary: true }
        : { name: 'id', type: 'integer', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
      ...Object.entries(columns).map(([column, options]) => {
        return { name: column, ...(typeof options === 'string' ? { type: options } : options) };
      }),
      ...(hasTimestamps ? timestamps(queryRunner) : []),
      { name: 'revision', type: 'integer', default: 0 },
    ],
    checks: [
      ...Object.entries(checks).map(([check, expression]) => ({ name: check, expression })),
      ...(ids === 'uuid' ? [{ expression: IS_UUID }] : []),
    ],
    foreignKeys: Object.entries(references).map(([column, referencedTableName]) => ({
      columnNames: [column],
      referencedTableName,
      referencedColumnNames: ['id'],
      onDelete: 'RESTRICT',
      deferrable: referencedTableName === name ? 'INITIALLY IMMEDIATE' : undefined,
    })),
    indices: [
      ...Object.keys(references)
        .filter((column) => !unique.some((names) => names.length === 1 && names[0] === column))
        .map((column) => ({ columnNames: [column] })),
      ...indices.map((names) => ({ columnNames: [...names] })),
      ...unique.map((names) => ({ columnNames: [...names], isUnique: true })),
    ],
  });
  await queryRunner.createTable(table);
  await queryRunner.sql`INSERT INTO storage (resource, epoch, revision, used) VALUES (${name}, '', 0, 0)`;
  await makeTriggers(queryRunner, queryRunner.dataSource, name, idKindOf(ids));
}

function timestamps({ dataSource: { driver } }: QueryRunner): TableColumnOptions[] {
  const { createDate: type, createDateDefault } = driver.mappedDataTypes;
  return ['createdAt', 'updatedAt'].map((name) => ({ name, type: type as string, default: createDateDefault }));
}

/** Drops the table of a resource and its `storage` row; for `down` of a migration. */
export async function dropResourceTable(queryRunner: QueryRunner, name: string): Promise<void> {
  await dropTriggers(queryRunner, queryRunner.dataSource, name);
  await dropAuditTriggers(queryRunner, queryRunner.dataSource, name);
  await queryRunner.dropTable(name);
  await queryRunner.sql`DELETE FROM storage WHERE resource = ${name}`;
}

/** Renames the table of a resource and its `storage` row. The end of the migrations makes the triggers again. */
export async function renameResourceTable(queryRunner: QueryRunner, name: string, newName: string): Promise<void> {
  // On PostgreSQL the triggers would keep their functions, which name the table as it was.
  await dropTriggers(queryRunner, queryRunner.dataSource, name);
  await dropAuditTriggers(queryRunner, queryRunner.dataSource, name);
  await queryRunner.renameTable(name, newName);
  await queryRunner.sql`UPDATE storage SET resource = ${newName} WHERE resource = ${name}`;
}
