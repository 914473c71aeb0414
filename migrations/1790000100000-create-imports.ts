import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

/** Creates the table with the progress of unfinished imports. */
export class CreateImports1790000100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'imports',
        columns: [
          { name: 'resource', type: 'varchar', isPrimary: true },
          { name: 'lines', type: 'integer' },
          { name: 'digest', type: 'varchar' },
          { name: 'ids', type: 'varchar' },
          { name: 'started', type: 'varchar' },
        ],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('imports');
  }
}
