import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasLength, isBetween } from '../../src/resource/resource-entity.js';
import { createResourceTable, dropResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreatePermits1790000400000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'permits', {
      ids: 'uuid',
      columns: { title: 'varchar', seats: 'integer' },
      checks: { permits_title: hasLength('title', 1, 60), permits_seats: isBetween('seats', 1, 9) },
      indices: [['seats', 'id']],
    });
    await createResourceTable(queryRunner, 'remarks', {
      columns: { text: 'varchar', isRead: 'boolean', permitId: 'uuid' },
      checks: { remarks_text: hasLength('text', 1, 100) },
      references: { permitId: 'permits' },
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropResourceTable(queryRunner, 'remarks');
    await dropResourceTable(queryRunner, 'permits');
  }
}
