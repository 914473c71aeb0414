import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

/** Creates the table with the results of requests with an `Idempotency-Key`. Times are in milliseconds since 1970. */
export class CreateIdempotencyKeys1790000160000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'idempotency_keys',
        columns: [
          { name: 'id', type: 'varchar', isPrimary: true },
          { name: 'fingerprint', type: 'varchar' },
          { name: 'result', type: 'text' },
          { name: 'expires', type: 'bigint' },
        ],
        indices: [{ name: 'idempotency_keys_expires', columnNames: ['expires'] }],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('idempotency_keys');
  }
}
