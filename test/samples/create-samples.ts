import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasLength, isBetween, isOneOf } from '../../src/resource/resource-entity.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';

export class CreateSamples1790000500000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'samples', {
      ids: 'uuid',
      columns: {
        code: 'varchar',
        note: { type: 'varchar', isNullable: true },
        quantity: 'integer',
        points: { type: 'integer', isNullable: true },
        weight: 'double precision',
        isOpen: { type: 'boolean', default: true },
        isGift: { type: 'boolean', isNullable: true },
        startsAt: 'datetime',
        endsAt: { type: 'datetime', isNullable: true },
        day: 'date',
        lastDay: { type: 'date', isNullable: true },
        value: { type: 'decimal', precision: 10, scale: 2, default: 1.5 },
        tip: { type: 'decimal', precision: 5, scale: 0, isNullable: true },
        deviceId: 'uuid',
        batchId: { type: 'uuid', isNullable: true },
        status: 'varchar',
        paper: { type: 'varchar', isNullable: true },
        state: { type: 'varchar', default: "'new'" },
        cookieId: 'integer',
        otherId: { type: 'integer', isNullable: true },
        wholeId: { type: 'uuid', isNullable: true },
        address: 'text',
        delivery: { type: 'text', isNullable: true },
      },
      checks: {
        samples_code: hasLength('code', 2, 9),
        samples_note: hasLength('note', 1, 100),
        samples_quantity: isBetween('quantity', -5, 1000),
        samples_points: isBetween('points', 0, 9),
        samples_weight: isBetween('weight', 0, 99.5),
        samples_status: isOneOf('status', ['open', 'paid']),
        samples_paper: isOneOf('paper', ['plain', 'striped']),
        samples_state: isOneOf('state', ['new', 'used']),
      },
      hasTimestamps: true,
      unique: [['code'], ['quantity', 'day']],
      indices: [
        ['quantity', 'id'],
        ['points', 'id'],
        ['weight', 'id'],
        ['value', 'id'],
        ['tip', 'id'],
        ['day', 'id'],
        ['startsAt', 'id'],
        ['endsAt', 'id'],
      ],
      references: { cookieId: 'cookies', otherId: 'cookies', wholeId: 'samples' },
    });
  }

  async down(): Promise<void> {}
}
