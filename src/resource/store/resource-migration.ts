import { randomBytes } from 'node:crypto';
import { type QueryRunner, Table, type TableColumnOptions } from 'typeorm';

/** What the table of a resource has besides id and revision, which all have. */
export interface ResourceTableOptions {
  /** By name: the type, or more than that. Without `isNullable`, a column is NOT NULL. */
  readonly columns: Readonly<Record<string, string | Omit<TableColumnOptions, 'name'>>>;
  /** By name: what every row must fulfil. */
  readonly checks?: Readonly<Record<string, string>>;
  /** By column: the table whose id it names, as `@References` has it in the entity. */
  readonly references?: Readonly<Record<string, string>>;
  /** The columns of each further index, as `@Index` has them in the entity: `['quantity', 'id']` to sort by. */
  readonly indices?: readonly (readonly string[])[];
}

/** For a migration: makes the table of a resource, and the `storage` row that counts its records. */
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

/** For the way back of such a migration. */
export async function dropResourceTable(queryRunner: QueryRunner, name: string): Promise<void> {
  await queryRunner.dropTable(name);
  await queryRunner.sql`DELETE FROM storage WHERE resource = ${name}`;
}
