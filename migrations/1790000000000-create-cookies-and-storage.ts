import { randomBytes } from 'node:crypto';
import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

/** Creates the table of cookies, and the table `storage`, in which a row counts the records of each resource. */
export class CreateCookiesAndStorage1790000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'storage',
        columns: [
          { name: 'resource', type: 'varchar', isPrimary: true },
          { name: 'epoch', type: 'varchar' },
          { name: 'revision', type: 'integer' },
          { name: 'used', type: 'integer' },
        ],
        checks: [{ name: 'storage_used', columnNames: ['used'], expression: '"used" >= 0' }],
      }),
    );
    await queryRunner.createTable(
      new Table({
        name: 'cookies',
        columns: [
          { name: 'id', type: 'integer', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
          { name: 'flavor', type: 'varchar' },
          { name: 'size', type: 'varchar' },
          { name: 'wish', type: 'varchar' },
          { name: 'revision', type: 'integer' },
        ],
        checks: [
          {
            name: 'cookies_flavor',
            columnNames: ['flavor'],
            expression: `"flavor" IN ('chocolate', 'vanilla', 'cinnamon')`,
          },
          { name: 'cookies_size', columnNames: ['size'], expression: `"size" IN ('small', 'medium', 'large')` },
          { name: 'cookies_wish', columnNames: ['wish'], expression: 'length("wish") BETWEEN 1 AND 255' },
        ],
      }),
    );
    const epoch = randomBytes(6).toString('hex');
    await queryRunner.sql`INSERT INTO storage (resource, epoch, revision, used) VALUES ('cookies', ${epoch}, 0, 0)`;
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('cookies');
    await queryRunner.dropTable('storage');
  }
}
