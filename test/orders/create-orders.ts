import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasLength, isOneOf } from '../../src/resource/columns.js';
import { createResourceTable, dropResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateOrders1790000200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'orders', {
      columns: { customer: 'varchar', quantity: 'integer', status: 'varchar', cookieId: 'integer' },
      checks: {
        orders_customer: hasLength('customer', 1, 100),
        orders_quantity: '"quantity" BETWEEN 1 AND 1000',
        orders_status: isOneOf('status', ['open', 'paid', 'shipped']),
      },
      references: { cookieId: 'cookies' },
    });
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropResourceTable(queryRunner, 'orders');
  }
}
