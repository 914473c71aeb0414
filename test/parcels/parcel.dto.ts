import { ApiProperty, PartialType } from '@nestjs/swagger';
import { INTEGER_IDS } from '../../src/resource/id-kinds.js';
import { EnumFilter, IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { EnumProperty, IdProperty, IntegerProperty, TextProperty } from '../../src/resource/properties.js';
import { PARCEL, type Status, STATUSES } from './parcel.values.js';

const STATUS = { enum: STATUSES, enumName: 'ParcelStatus' } as const;

export class CreateParcelDto {
  @TextProperty(1, 100, { example: 'Ada' })
  customer!: string;

  @IntegerProperty(1, 1000, { example: 12 })
  quantity!: number;

  @EnumProperty(STATUS)
  status!: Status;

  @IdProperty()
  cookieId!: number;
}

export class PatchParcelDto extends PartialType(CreateParcelDto, { skipNullProperties: false }) {}

export class ParcelDto extends CreateParcelDto {
  @ApiProperty(INTEGER_IDS.schema)
  id!: number;
}

export class ListParcelsQuery extends ListQueryOf(PARCEL) {
  @EnumFilter(STATUS, 'Only parcels of this status; repeat it for "or".')
  status?: Status[];

  @IdFilter('Only parcels of this cookie; repeat it for "or".')
  cookieId?: number[];
}
