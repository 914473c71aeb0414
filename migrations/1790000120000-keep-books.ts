import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dropTriggers, makeTriggers } from '../src/resource/usage/triggers.js';

/**
 * Makes the database keep count, capacity and revisions for every writer: `storage` gets the capacity, and the table of
 * each resource its triggers and a default revision.
 */
export class KeepBooks1790000120000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const { dataSource } = queryRunner;
    const type = dataSource.options.type === 'postgres' ? 'bigint' : 'integer';
    // `addColumn` would rebuild `storage`, which fails if triggers already refer to it.
    for (const column of ['capacity', 'replaced']) {
      await queryRunner.query(`ALTER TABLE "storage" ADD COLUMN "${column}" ${type}`);
    }
    for (const table of await resourceTables(queryRunner)) {
      await setDefault(queryRunner, table, 0);
      await makeTriggers(queryRunner, dataSource, table);
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of await resourceTables(queryRunner)) {
      await dropTriggers(queryRunner, queryRunner.dataSource, table);
      await setDefault(queryRunner, table, undefined);
    }
    for (const column of ['capacity', 'replaced']) {
      await queryRunner.query(`ALTER TABLE "storage" DROP COLUMN "${column}"`);
    }
  }
}

/** The tables with a row in `storage`. Tables without revisions do not belong to the resource kit. */
async function resourceTables(queryRunner: QueryRunner): Promise<string[]> {
  const rows = (await queryRunner.query('SELECT resource FROM storage ORDER BY resource')) as { resource: string }[];
  const tables = await queryRunner.getTables(rows.map(({ resource }) => resource));
  return tables.filter((table) => table.findColumnByName('revision') !== undefined).map(({ name }) => name);
}

async function setDefault(queryRunner: QueryRunner, table: string, value: 0 | undefined): Promise<void> {
  if (queryRunner.dataSource.options.type === 'postgres') {
    const change = value === undefined ? 'DROP DEFAULT' : `SET DEFAULT ${value}`;
    await queryRunner.query(`ALTER TABLE "${table}" ALTER COLUMN "revision" ${change}`);
    return;
  }
  const column = (await queryRunner.getTable(table))!.findColumnByName('revision')!;
  const changed = column.clone();
  changed.default = value;
  await queryRunner.changeColumn(table, column, changed);
}
