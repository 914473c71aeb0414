import { PartialType } from '@nestjs/swagger';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { BooleanProperty, IdProperty, IntegerProperty, RecordOf, TextProperty } from '../../src/resource/properties.js';
import { NOTE, TICKET } from './ticket.values.js';

export class CreateTicketDto {
  @TextProperty(1, 60, { example: 'Row 1' })
  title!: string;

  @IntegerProperty(1, 9)
  seats!: number;
}

export class PatchTicketDto extends PartialType(CreateTicketDto, { skipNullProperties: false }) {}

export class TicketDto extends RecordOf(CreateTicketDto, TICKET) {}

export class ListTicketsQuery extends ListQueryOf(TICKET, { sorts: { seats: 'integer' } }) {}

export class CreateNoteDto {
  @TextProperty(1, 100, { example: 'Sold' })
  text!: string;

  @BooleanProperty()
  isRead!: boolean;

  @IdProperty({ ids: UUID_IDS })
  ticketId!: string;
}

export class PatchNoteDto extends PartialType(CreateNoteDto, { skipNullProperties: false }) {}

export class NoteDto extends RecordOf(CreateNoteDto) {}

export class ListNotesQuery extends ListQueryOf(NOTE) {
  @IdFilter('Only notes of this ticket; repeat it for "or".', UUID_IDS)
  ticketId?: string[];
}
