import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasLength, isBetween } from '../../src/resource/resource-entity.js';
import { createResourceTable, dropResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateTickets1790000400000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'tickets', {
      ids: 'uuid',
      columns: { title: 'varchar', seats: 'integer' },
      checks: { tickets_title: hasLength('title', 1, 60), tickets_seats: isBetween('seats', 1, 9) },
      indices: [['seats', 'id']],
    });
    await createResourceTable(queryRunner, 'notes', {
      columns: { text: 'varchar', isRead: 'boolean', ticketId: 'uuid' },
      checks: { notes_text: hasLength('text', 1, 100) },
      references: { ticketId: 'tickets' },
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropResourceTable(queryRunner, 'notes');
    await dropResourceTable(queryRunner, 'tickets');
  }
}
