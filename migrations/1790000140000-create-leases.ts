import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

/** Creates the table with the processes that do scheduled work, and the times when the work is due again. */
export class CreateLeases1790000140000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'leases',
        columns: [
          { name: 'name', type: 'varchar', isPrimary: true },
          { name: 'holder', type: 'varchar' },
          { name: 'expires', type: 'integer' },
        ],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('leases');
  }
}
