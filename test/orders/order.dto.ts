import { ApiProperty, PartialType } from '@nestjs/swagger';
import { IsIn, IsInt, Max, Min } from 'class-validator';
import { IsText } from '../../src/http/validation/text.decorator.js';
import { EnumFilter, IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { IdProperty, RECORD_ID } from '../../src/resource/record-id.js';
import { ORDER, type Status, STATUSES } from './order.values.js';

const STATUS = { enum: STATUSES, enumName: 'OrderStatus' } as const;

export class CreateOrderDto {
  @ApiProperty({ minLength: 1, maxLength: 100, example: 'Ada' })
  @IsText(1, 100)
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

export class PatchOrderDto extends PartialType(CreateOrderDto, { skipNullProperties: false }) {}

export class OrderDto extends CreateOrderDto {
  @ApiProperty(RECORD_ID)
  id!: number;
}

export class ListOrdersQuery extends ListQueryOf(ORDER) {
  @EnumFilter(STATUS, 'Only orders of this status; repeat it for "or".')
  status?: Status[];

  @IdFilter('Only orders of this cookie; repeat it for "or".')
  cookieId?: number[];
}
