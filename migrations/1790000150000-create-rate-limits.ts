import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

/** Creates the table with the counts of rate limits that all processes share. */
export class CreateRateLimits1790000150000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'rate_limits',
        columns: [
          { name: 'key', type: 'varchar', isPrimary: true },
          { name: 'requests', type: 'integer' },
          { name: 'ends_at', type: 'bigint' },
        ],
        indices: [{ name: 'rate_limits_ends_at', columnNames: ['ends_at'] }],
      }),
    );
    if (queryRunner.dataSource.options.type !== 'postgres') return;
    // Counts need not survive a crash. Without WAL, no request waits for the disk, or for a commit of the same subject.
    await queryRunner.query('ALTER TABLE rate_limits SET UNLOGGED');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('rate_limits');
  }
}
