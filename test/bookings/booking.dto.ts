import { ApiProperty, OmitType, PickType } from '@nestjs/swagger';
import { EnumFilter, IdFilter, ListQueryOf, RangeFilter } from '../../src/resource/lists/list-query.js';
import {
  BooleanProperty,
  DateTimeProperty,
  EnumProperty,
  IdProperty,
  IntegerProperty,
  RecordOf,
} from '../../src/resource/properties.js';
import { BOOKING, type Status, STATUSES, TABLE } from './booking.entity.js';

const STATUS = { enum: STATUSES, enumName: 'BookingStatus' } as const;

export class CreateTableDto {
  @IntegerProperty(1, 20, { example: 4 })
  seats!: number;
}

export class TableDto extends RecordOf(CreateTableDto) {
  @BooleanProperty()
  isOpen!: boolean;
}

export class ListTablesQuery extends ListQueryOf(TABLE) {}

export class CreateBookingDto {
  @IdProperty()
  tableId!: number;

  @IntegerProperty(1, 20, { example: 2 })
  guests!: number;
}

export class PatchBookingDto extends PickType(CreateBookingDto, ['guests'] as const) {}

export class BookingDto extends RecordOf(CreateBookingDto) {
  @EnumProperty(STATUS)
  status!: Status;

  @ApiProperty({ example: 'alice' })
  owner!: string;

  @DateTimeProperty({ isOptional: true })
  deletedAt?: Date | null;
}

export class ListBookingsQuery extends ListQueryOf(BOOKING, { sorts: { guests: 'integer' } }) {
  @IdFilter('Only bookings of this table; repeat it for "or".')
  tableId?: number[];

  @EnumFilter(STATUS, 'Only bookings of this status; repeat it for "or".')
  status?: Status[];

  @RangeFilter('integer', 'Only bookings for so many guests or more.')
  guestsFrom?: number;
}

/** The list below a table: the table is in the path. */
export class ListBookingsOfTableQuery extends OmitType(ListBookingsQuery, ['tableId'] as const) {}
