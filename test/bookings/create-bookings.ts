import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isBetween, isOneOf } from '../../src/resource/resource-entity.js';
import { createResourceTable, dropResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateBookings1790000400000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'tables', {
      columns: { seats: 'integer', isOpen: { type: 'boolean', default: true } },
      checks: { tables_seats: isBetween('seats', 1, 20) },
    });
    await createResourceTable(queryRunner, 'bookings', {
      columns: {
        tableId: 'integer',
        guests: 'integer',
        status: { type: 'varchar', default: `'booked'` },
        owner: 'varchar',
        deletedAt: { type: 'datetime', isNullable: true },
      },
      checks: { bookings_status: isOneOf('status', ['booked', 'seated', 'cancelled']) },
      references: { tableId: 'tables' },
      indices: [['guests', 'id'], ['deletedAt']],
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropResourceTable(queryRunner, 'bookings');
    await dropResourceTable(queryRunner, 'tables');
  }
}
