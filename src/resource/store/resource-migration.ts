import { type QueryRunner, Table, type TableColumnOptions } from 'typeorm';
import { dropTriggers, makeTriggers } from '../usage/triggers.js';

/** The table of a resource, without the columns `id` and `revision`. */
export interface ResourceTableOptions {
  /** Columns by name: a type or options. A column is NOT NULL unless `isNullable` is set. */
  readonly columns: Readonly<Record<string, string | Omit<TableColumnOptions, 'name'>>>;
  /** CHECK constraints by name. */
  readonly checks?: Readonly<Record<string, string>>;
  /** Referenced tables by column, equal to `@References` in the entity. */
  readonly references?: Readonly<Record<string, string>>;
  /** Columns of each index, equal to `@Index` in the entity: `['quantity', 'id']` allows sorting by quantity. */
  readonly indices?: readonly (readonly string[])[];
}

/** Creates the table of a resource, its `storage` row and the triggers that keep it; for `up` of a migration. */
export async function createResourceTable(
  queryRunner: QueryRunner,
  name: string,
  { columns, checks = {}, references = {}, indices = [] }: ResourceTableOptions,
): Promise<void> {
  const table = new Table({
    name,
    columns: [
      { name: 'id', type: 'integer', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
      ...Object.entries(columns).map(([column, options]) => columnOf(queryRunner, column, options)),
      { name: 'revision', type: 'integer', default: 0 },
    ],
    checks: Object.entries(checks).map(([check, expression]) => ({ name: check, expression })),
    foreignKeys: Object.entries(references).map(([column, referencedTableName]) => ({
      columnNames: [column],
      referencedTableName,
      referencedColumnNames: ['id'],
      onDelete: 'RESTRICT',
    })),
    indices: [...Object.keys(references).map((column) => [column]), ...indices].map((columns) => ({
      columnNames: [...columns],
    })),
  });
  await queryRunner.createTable(table);
  await queryRunner.sql`INSERT INTO storage (resource, epoch, revision, used) VALUES (${name}, '', 0, 0)`;
  await makeTriggers(queryRunner, queryRunner.dataSource, name);
}

function columnOf(
  { dataSource: { driver } }: QueryRunner,
  name: string,
  options: string | Omit<TableColumnOptions, 'name'>,
): TableColumnOptions {
  const column = typeof options === 'string' ? { type: options } : options;
  // SQLite has no uuid: its entities have a text there.
  return { name, ...column, type: column.type === 'uuid' ? driver.normalizeType({ type: 'uuid' }) : column.type };
}

/** Drops the table of a resource and its `storage` row; for `down` of a migration. */
export async function dropResourceTable(queryRunner: QueryRunner, name: string): Promise<void> {
  await dropTriggers(queryRunner, queryRunner.dataSource, name);
  await queryRunner.dropTable(name);
  await queryRunner.sql`DELETE FROM storage WHERE resource = ${name}`;
}
