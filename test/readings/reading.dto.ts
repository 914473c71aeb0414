import { ApiProperty, OmitType, PickType } from '@nestjs/swagger';
import { INTEGER_IDS } from '../../src/resource/id-kinds.js';
import { EnumFilter, IdFilter, ListQueryOf, RangeFilter } from '../../src/resource/lists/list-query.js';
import { DateProperty, DecimalProperty } from '../../src/resource/properties.js';
import { type Kind, KINDS, READING } from './reading.entity.js';

const KIND = { enum: KINDS, enumName: 'ReadingKind' } as const;

export class ReadingDto {
  @ApiProperty(INTEGER_IDS.schema)
  id!: number;

  @ApiProperty(KIND)
  kind!: Kind;

  @ApiProperty(INTEGER_IDS.schema)
  batch!: number;

  @ApiProperty({ type: 'integer', nullable: true, example: 3 })
  level!: number | null;

  @ApiProperty({ example: 0.5 })
  weight!: number;

  @DecimalProperty(10, 2)
  price!: string;

  @DateProperty({ isOptional: true })
  day!: string | null;

  @ApiProperty({ type: 'string', format: 'date-time', nullable: true, example: '2026-01-31T12:00:00.000Z' })
  takenAt!: Date | null;
}

export class ListReadingsQuery extends ListQueryOf(READING, {
  sorts: { level: 'integer', weight: 'number', takenAt: 'date-time', price: 'decimal', day: 'date' },
}) {
  @EnumFilter(KIND, 'Only readings of this kind; repeat it for "or".')
  kind?: Kind[];

  @IdFilter('Only readings of this batch; repeat it for "or".')
  batch?: number[];

  @RangeFilter('integer', 'Only readings of this level or a higher one.', { minimum: -100, maximum: 100 })
  levelFrom?: number;

  @RangeFilter('integer', 'Only readings of this level or a lower one.')
  levelTo?: number;

  @RangeFilter('number', 'Only readings of this weight or more.', { minimum: 0 })
  weightFrom?: number;

  @RangeFilter('number', 'Only readings of this weight or less.')
  weightTo?: number;

  @RangeFilter('date-time', 'Only readings taken then or later.')
  takenAtFrom?: Date;

  @RangeFilter('date-time', 'Only readings taken then or earlier.')
  takenAtTo?: Date;

  @RangeFilter('decimal', 'Only readings of this price or more.', { minimum: -1000 })
  priceFrom?: string;

  @RangeFilter('decimal', 'Only readings of this price or less.')
  priceTo?: string;

  @RangeFilter('date', 'Only readings of this day or a later one.')
  dayFrom?: string;

  @RangeFilter('date', 'Only readings of this day or an earlier one.')
  dayTo?: string;
}

/** A second list of the resource: without `kind`, and with another range of weights. */
export class ListHeavyReadingsQuery extends OmitType(ListReadingsQuery, ['kind', 'weightFrom', 'weightTo'] as const) {
  @RangeFilter('number', 'Only readings of this weight or more.', { minimum: 1 })
  weightFrom?: number;
}

export class ListReadingsOfBatchQuery extends PickType(ListReadingsQuery, ['limit', 'batch'] as const) {}
