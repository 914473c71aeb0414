import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import { EnumFilter, IdFilter, ListQueryOf, RangeFilter } from '../../src/resource/lists/list-query.js';
import {
  BooleanProperty,
  DateTimeProperty,
  EnumProperty,
  IdProperty,
  IntegerProperty,
  RecordOf,
} from '../../src/resource/properties.js';
import { OUTING, type Status, STATUSES, SLEIGH } from './outing.entity.js';

const STATUS = { enum: STATUSES, enumName: 'OutingStatus' } as const;

export class CreateSleighDto {
  @IntegerProperty(1, 20, { example: 4 })
  seats!: number;
}

export class SleighDto extends RecordOf(CreateSleighDto) {
  @BooleanProperty()
  isOpen!: boolean;
}

export class ListSleighsQuery extends ListQueryOf(SLEIGH) {}

export class CreateOutingDto {
  @IdProperty()
  sleighId!: number;

  @IntegerProperty(1, 20, { example: 2 })
  guests!: number;

  @DateTimeProperty()
  startsAt!: Date;

  @DateTimeProperty()
  endsAt!: Date;
}

export class PatchOutingDto extends PartialType(OmitType(CreateOutingDto, ['sleighId'] as const), {
  skipNullProperties: false,
}) {}

export class OutingDto extends RecordOf(CreateOutingDto) {
  @EnumProperty(STATUS)
  status!: Status;

  @ApiProperty({ example: 'alice' })
  owner!: string;

  @DateTimeProperty({ isOptional: true })
  deletedAt?: Date | null;
}

export class ListOutingsQuery extends ListQueryOf(OUTING, { sorts: { guests: 'integer' } }) {
  @IdFilter('Only outings of this sleigh; repeat it for "or".')
  sleighId?: number[];

  @EnumFilter(STATUS, 'Only outings of this status; repeat it for "or".')
  status?: Status[];

  @RangeFilter('integer', 'Only outings for so many guests or more.')
  guestsFrom?: number;
}

/** Query of the list below a sleigh, without `sleighId`, because the path contains it. */
export class ListOutingsOfSleighQuery extends OmitType(ListOutingsQuery, ['sleighId'] as const) {}
