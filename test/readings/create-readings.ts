import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isOneOf } from '../../src/resource/resource-entity.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateReadings1790000300000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const { type } = queryRunner.connection.options;
    await createResourceTable(queryRunner, 'readings', {
      columns: {
        kind: 'varchar',
        batch: 'integer',
        level: { type: 'smallint', isNullable: true },
        weight: 'double precision',
        value: { type: 'decimal', precision: 10, scale: 2 },
        day: { type: 'date', isNullable: true },
        takenAt: { type: type === 'postgres' ? 'timestamp' : 'datetime', isNullable: true },
      },
      checks: { readings_kind: isOneOf('kind', ['indoor', 'outdoor']) },
      indices: [['batch'], ['level', 'id'], ['weight', 'id'], ['takenAt', 'id'], ['value', 'id'], ['day', 'id']],
    });
  }

  async down(): Promise<void> {}
}
