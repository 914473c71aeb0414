import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

/** Creates the table of the settings that `cli set` changes. Times are in milliseconds since 1970. */
export class CreateLiveSettings1790000180000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'live_settings',
        columns: [
          { name: 'name', type: 'varchar', isPrimary: true },
          { name: 'value', type: 'varchar' },
          { name: 'changed', type: 'bigint' },
          { name: 'changed_by', type: 'varchar' },
        ],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('live_settings');
  }
}
