import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';

/** Creates the table of revoked tokens. Times are in seconds since 1970; an empty issuer means any. */
export class CreateRevokedTokens1790000130000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'revoked_tokens',
        columns: [
          { name: 'claim', type: 'varchar', isPrimary: true },
          { name: 'value', type: 'varchar', isPrimary: true },
          { name: 'issuer', type: 'varchar', isPrimary: true },
          { name: 'revoked', type: 'bigint' },
          { name: 'expires', type: 'bigint' },
        ],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('revoked_tokens');
  }
}
