import { randomBytes } from 'node:crypto';
import { type QueryRunner, Table, type TableColumnOptions } from 'typeorm';

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

/** Creates the table of a resource and its `storage` row; for `up` of a migration. */
export async function createResourceTable(
  queryRunner: QueryRunner,
  name: string,
  { columns, checks = {}, references = {}, indices = [] }: ResourceTableOptions,
): Promise<void> {
  const table = new Table({
    name,
    columns: [
      { name: 'id', type: 'integer', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
      ...Object.entries(columns).map(([column, options]) => columnOf(column, options)),
      { name: 'revision', type: 'integer' },
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
  const epoch = randomBytes(6).toString('hex');
  await queryRunner.sql`INSERT INTO storage (resource, epoch, revision, used) VALUES (${name}, ${epoch}, 0, 0)`;
}

function columnOf(name: string, options: string | Omit<TableColumnOptions, 'name'>): TableColumnOptions {
  return typeof options === 'string' ? { name, type: options } : { name, ...options };
}

/** Drops the table of a resource and its `storage` row; for `down` of a migration. */
export async function dropResourceTable(queryRunner: QueryRunner, name: string): Promise<void> {
  await queryRunner.dropTable(name);
  await queryRunner.sql`DELETE FROM storage WHERE resource = ${name}`;
}
