import { PartialType } from '@nestjs/swagger';
import { ApiClosed } from '../../src/openapi/closed.decorator.js';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { EnumFilter, IdFilter, ListQueryOf, RangeFilter } from '../../src/resource/lists/list-query.js';
import {
  BooleanProperty,
  DateProperty,
  DateTimeProperty,
  DecimalProperty,
  EnumProperty,
  IdProperty,
  IntegerProperty,
  JsonProperty,
  NumberProperty,
  RecordOf,
  TextProperty,
  UuidProperty,
} from '../../src/resource/properties.js';
import {
  SAMPLE,
  SAMPLE_PAPERS,
  SAMPLE_STATES,
  SAMPLE_STATUSES,
  type SamplePaper,
  type SampleState,
  type SampleStatus,
} from './sample.entity.js';

const SAMPLE_STATUS = {
  enum: SAMPLE_STATUSES,
  enumName: 'SampleStatus',
  enumSchema: { description: 'The status of a sample', example: 'open' },
} as const;
const SAMPLE_PAPER = { enum: SAMPLE_PAPERS, enumName: 'SamplePaper' } as const;
const SAMPLE_STATE = { enum: SAMPLE_STATES, enumName: 'SampleState' } as const;

@ApiClosed()
class SamplePointDto {
  @NumberProperty(-180, 180)
  east!: number;

  @NumberProperty(-90, 90)
  north!: number;
}

@ApiClosed()
class SampleAddressDto {
  @TextProperty(1, 100, { example: 'Main Street' })
  street!: string;

  @IntegerProperty(0, 99_999, { isOptional: true })
  zip?: number | null;

  @DateTimeProperty({ isOptional: true })
  since?: Date | null;

  @JsonProperty(() => SamplePointDto, { isOptional: true })
  point?: SamplePointDto | null;
}

export class CreateSampleDto {
  @TextProperty(2, 9, { example: 'Some code' })
  code!: string;

  @TextProperty(1, 100, { example: 'Some note', isOptional: true })
  note?: string | null;

  @IntegerProperty(-5, 1000)
  quantity!: number;

  @IntegerProperty(0, 9, { isOptional: true })
  points?: number | null;

  @NumberProperty(0, 99.5)
  weight!: number;

  @BooleanProperty({ default: true })
  isOpen?: boolean;

  @BooleanProperty({ isOptional: true })
  isGift?: boolean | null;

  @DateTimeProperty()
  startsAt!: Date;

  @DateTimeProperty({ isOptional: true })
  endsAt?: Date | null;

  @DateProperty()
  day!: string;

  @DateProperty({ isOptional: true })
  lastDay?: string | null;

  @DecimalProperty(10, 2, { default: '1.50' })
  price?: string;

  @DecimalProperty(5, 0, { minimum: 3, isOptional: true })
  tip?: string | null;

  @UuidProperty()
  deviceId!: string;

  @UuidProperty({ isOptional: true })
  batchId?: string | null;

  @EnumProperty(SAMPLE_STATUS)
  status!: SampleStatus;

  @EnumProperty(SAMPLE_PAPER, { isOptional: true })
  paper?: SamplePaper | null;

  @IdProperty()
  cookieId!: number;

  @IdProperty({ isOptional: true })
  otherId?: number | null;

  @IdProperty({ isOptional: true, ids: UUID_IDS })
  wholeId?: string | null;

  @JsonProperty(() => SampleAddressDto)
  address!: SampleAddressDto;

  @JsonProperty(() => SampleAddressDto, { isOptional: true, description: 'Where it goes' })
  delivery?: SampleAddressDto | null;
}

/** The body of PATCH. Absent properties do not change. */
export class PatchSampleDto extends PartialType(CreateSampleDto, { skipNullProperties: false }) {}

/** A sample as clients see it. */
@ApiClosed()
export class SampleDto extends RecordOf(CreateSampleDto, SAMPLE) {
  @EnumProperty(SAMPLE_STATE)
  state!: SampleState;

  @DateTimeProperty()
  createdAt!: Date;

  @DateTimeProperty()
  updatedAt!: Date;
}

export class ListSamplesQuery extends ListQueryOf(SAMPLE, {
  sorts: {
    quantity: 'integer',
    points: 'integer',
    weight: 'number',
    price: 'decimal',
    tip: 'decimal',
    day: 'date',
    startsAt: 'date-time',
    endsAt: 'date-time',
  },
}) {
  @EnumFilter(SAMPLE_STATUS, 'Only those of this status; repeat it for "or".')
  status?: SampleStatus[];

  @EnumFilter(SAMPLE_PAPER, 'Only those of this paper; repeat it for "or".')
  paper?: SamplePaper[];

  @EnumFilter(SAMPLE_STATE, 'Only those of this state; repeat it for "or".')
  state?: SampleState[];

  @IdFilter('Only those of this cookie; repeat it for "or".')
  cookieId?: number[];

  @IdFilter('Only those of this cookie; repeat it for "or".')
  otherId?: number[];

  @IdFilter('Only those of this sample; repeat it for "or".', UUID_IDS)
  wholeId?: string[];

  @RangeFilter('integer', 'Only those from this quantity on.', { minimum: -5, maximum: 1000 })
  quantityFrom?: number;

  @RangeFilter('integer', 'Only those up to this quantity.')
  quantityTo?: number;

  @RangeFilter('integer', 'Only those from this points on.')
  pointsFrom?: number;

  @RangeFilter('integer', 'Only those up to this points.')
  pointsTo?: number;

  @RangeFilter('number', 'Only those from this weight on.')
  weightFrom?: number;

  @RangeFilter('number', 'Only those up to this weight.')
  weightTo?: number;

  @RangeFilter('decimal', 'Only those from this price on.', { minimum: -1000 })
  priceFrom?: string;

  @RangeFilter('decimal', 'Only those up to this price.')
  priceTo?: string;

  @RangeFilter('date', 'Only those from this day on.')
  dayFrom?: string;

  @RangeFilter('date', 'Only those up to this day.')
  dayTo?: string;

  @RangeFilter('date-time', 'Only those from this startsAt on.')
  startsAtFrom?: Date;

  @RangeFilter('date-time', 'Only those up to this startsAt.')
  startsAtTo?: Date;

  @RangeFilter('date-time', 'Only those from this endsAt on.')
  endsAtFrom?: Date;

  @RangeFilter('date-time', 'Only those up to this endsAt.')
  endsAtTo?: Date;
}
