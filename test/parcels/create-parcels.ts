import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasLength, isOneOf } from '../../src/resource/resource-entity.js';
import { createResourceTable, dropResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateParcels1790000200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'parcels', {
      columns: { customer: 'varchar', quantity: 'integer', status: 'varchar', cookieId: 'integer' },
      checks: {
        parcels_customer: hasLength('customer', 1, 100),
        parcels_quantity: '"quantity" BETWEEN 1 AND 1000',
        parcels_status: isOneOf('status', ['open', 'paid', 'shipped']),
      },
      references: { cookieId: 'cookies' },
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropResourceTable(queryRunner, 'parcels');
  }
}
