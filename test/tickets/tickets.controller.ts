import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query } from '@nestjs/common';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import {
  ApiCreate,
  ApiDelete,
  ApiGet,
  ApiList,
  ApiPatch,
  ApiReplace,
  missingReference,
  STILL_REFERENCED,
} from '../../src/resource/operations.js';
import { InjectResource } from '../../src/resource/resource.module.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import {
  CreateNoteDto,
  CreateTicketDto,
  ListNotesQuery,
  ListTicketsQuery,
  NoteDto,
  PatchNoteDto,
  PatchTicketDto,
  TicketDto,
} from './ticket.dto.js';
import { Note, Ticket } from './ticket.entity.js';
import { NOTE, TICKET } from './ticket.values.js';

const errors = [missingReference('ticketId')];

@Controller('tickets')
export class TicketsController {
  constructor(
    @InjectResource(Ticket) private readonly tickets: ResourceRepository<Ticket>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('tickets:read')
  @ApiList(TICKET, { record: TicketDto, query: ListTicketsQuery })
  list(@Query() query: ListTicketsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.tickets, query, exchange);
  }

  @Get(':id')
  @Scopes('tickets:read')
  @ApiGet(TICKET, { record: TicketDto })
  async get(@RecordId(TICKET) id: string, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.tickets.get(id));
  }

  @Post()
  @Scopes('tickets:write')
  @ApiCreate(TICKET, { record: TicketDto, body: CreateTicketDto })
  async create(@Body() body: CreateTicketDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(TICKET, await this.tickets.create(body));
  }

  @Put(':id')
  @Scopes('tickets:write')
  @ApiReplace(TICKET, { record: TicketDto, body: CreateTicketDto })
  async replace(@RecordId(TICKET) id: string, @Body() body: CreateTicketDto, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.tickets.update(id, body, exchange.preconditions));
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('tickets:write')
  @ApiPatch(TICKET, { body: PatchTicketDto })
  async patch(@RecordId(TICKET) id: string, @Body() body: PatchTicketDto, @Exchange() exchange: ResourceExchange) {
    exchange.changed(await this.tickets.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('tickets:write')
  @ApiDelete(TICKET, { errors: [STILL_REFERENCED] })
  delete(@RecordId(TICKET) id: string, @Exchange() exchange: ResourceExchange) {
    return this.tickets.delete(id, exchange.preconditions);
  }
}

@Controller('notes')
export class NotesController {
  constructor(
    @InjectResource(Note) private readonly notes: ResourceRepository<Note>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('notes:read')
  @ApiList(NOTE, { record: NoteDto, query: ListNotesQuery })
  list(@Query() query: ListNotesQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.notes, query, exchange);
  }

  @Get(':id')
  @Scopes('notes:read')
  @ApiGet(NOTE, { record: NoteDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.notes.get(id));
  }

  @Post()
  @Scopes('notes:write')
  @ApiCreate(NOTE, { record: NoteDto, body: CreateNoteDto, errors })
  async create(@Body() body: CreateNoteDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(NOTE, await this.notes.create(body));
  }

  @Put(':id')
  @Scopes('notes:write')
  @ApiReplace(NOTE, { record: NoteDto, body: CreateNoteDto, errors })
  async replace(@RecordId() id: number, @Body() body: CreateNoteDto, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.notes.update(id, body, exchange.preconditions));
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('notes:write')
  @ApiPatch(NOTE, { body: PatchNoteDto, errors })
  async patch(@RecordId() id: number, @Body() body: PatchNoteDto, @Exchange() exchange: ResourceExchange) {
    exchange.changed(await this.notes.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('notes:write')
  @ApiDelete(NOTE)
  delete(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return this.notes.delete(id, exchange.preconditions);
  }
}
