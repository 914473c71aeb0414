import { ApiProperty, PartialType } from '@nestjs/swagger';
import { IsIn, IsInt, Max, Min } from 'class-validator';
import { IsCodePointLength } from '../../src/http/validation/is-code-point-length.decorator.js';
import { EnumFilter, IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { IdProperty } from '../../src/resource/properties.js';
import { RECORD_ID } from '../../src/resource/record-id.js';
import { PARCEL, type Status, STATUSES } from './parcel.values.js';

const STATUS = { enum: STATUSES, enumName: 'ParcelStatus' } as const;

export class CreateParcelDto {
  @ApiProperty({ minLength: 1, maxLength: 100, example: 'Ada' })
  @IsCodePointLength(1, 100)
  customer!: string;

  @ApiProperty({ type: 'integer', minimum: 1, maximum: 1000, example: 12 })
  @IsInt()
  @Min(1)
  @Max(1000)
  quantity!: number;

  @ApiProperty(STATUS)
  @IsIn(STATUSES)
  status!: Status;

  @IdProperty()
  cookieId!: number;
}

export class PatchParcelDto extends PartialType(CreateParcelDto, { skipNullProperties: false }) {}

export class ParcelDto extends CreateParcelDto {
  @ApiProperty(RECORD_ID)
  id!: number;
}

export class ListParcelsQuery extends ListQueryOf(PARCEL) {
  @EnumFilter(STATUS, 'Only parcels of this status; repeat it for "or".')
  status?: Status[];

  @IdFilter('Only parcels of this cookie; repeat it for "or".')
  cookieId?: number[];
}
