import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isBetween, isOneOf } from '../../src/resource/resource-entity.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateOutings1790000400000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'sleighs', {
      columns: { seats: 'integer', isOpen: { type: 'boolean', default: true } },
      checks: { sleighs_seats: isBetween('seats', 1, 20) },
    });
    await createResourceTable(queryRunner, 'outings', {
      columns: {
        sleighId: 'integer',
        guests: 'integer',
        startsAt: 'datetime',
        endsAt: 'datetime',
        status: { type: 'varchar', default: `'booked'` },
        owner: 'varchar',
        deletedAt: { type: 'datetime', isNullable: true },
      },
      checks: { outings_status: isOneOf('status', ['booked', 'seated', 'cancelled']) },
      references: { sleighId: 'sleighs' },
      indices: [['guests', 'id'], ['deletedAt']],
    });
  }

  async down(): Promise<void> {}
}
