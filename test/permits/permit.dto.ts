import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { BooleanProperty, IdProperty, IntegerProperty, RecordOf, TextProperty } from '../../src/resource/properties.js';
import { REMARK, PERMIT } from './permit.values.js';

export class CreatePermitDto {
  @TextProperty(1, 60, { example: 'Row 1' })
  title!: string;

  @IntegerProperty(1, 9)
  seats!: number;
}

export class PermitDto extends RecordOf(CreatePermitDto, PERMIT) {}

export class ListPermitsQuery extends ListQueryOf(PERMIT, { sorts: { seats: 'integer' } }) {}

export class CreateRemarkDto {
  @TextProperty(1, 100, { example: 'Sold' })
  text!: string;

  @BooleanProperty()
  isRead!: boolean;

  @IdProperty({ ids: UUID_IDS })
  permitId!: string;
}

export class RemarkDto extends RecordOf(CreateRemarkDto) {}

export class ListRemarksQuery extends ListQueryOf(REMARK) {
  @IdFilter('Only remarks of this permit; repeat it for "or".', UUID_IDS)
  permitId?: string[];
}
