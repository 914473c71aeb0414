import { type MigrationInterface, type QueryRunner, TableForeignKey } from 'typeorm';
import { hasLength } from '../../src/resource/resource-entity.js';
import { createResourceTable, dropResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateDeeds1790000500000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'deeds', {
      columns: {
        title: 'varchar',
        price: { type: 'decimal', precision: 10, scale: 2, isNullable: true },
        area: { type: 'double precision', default: 0.1 },
        isPublic: { type: 'boolean', default: false },
      },
      checks: { deeds_title: hasLength('title', 1, 60) },
      hasTimestamps: true,
    });
    await createResourceTable(queryRunner, 'riders', {
      columns: { text: 'varchar', deedId: 'integer' },
      indices: [['deedId']],
    });
    const columns = { columnNames: ['deedId'], referencedTableName: 'deeds', referencedColumnNames: ['id'] };
    await queryRunner.createForeignKey('riders', new TableForeignKey({ ...columns, onDelete: 'CASCADE' }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropResourceTable(queryRunner, 'riders');
    await dropResourceTable(queryRunner, 'deeds');
  }
}
