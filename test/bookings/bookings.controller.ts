import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import {
  ApiAction,
  ApiCreate,
  ApiDelete,
  ApiGet,
  ApiList,
  ApiPatch,
  missingReference,
} from '../../src/resource/operations.js';
import {
  BookingDto,
  CreateBookingDto,
  CreateTableDto,
  ListBookingsOfTableQuery,
  ListBookingsQuery,
  ListTablesQuery,
  PatchBookingDto,
  TableDto,
} from './booking.dto.js';
import { BOOKING, TABLE } from './booking.entity.js';
import { ALREADY_SEATED, BookingsService, TablesService } from './bookings.service.js';

/** Everybody may read tables. */
@Controller('tables')
export class TablesController {
  constructor(
    private readonly tables: TablesService,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Public()
  @ApiList(TABLE, { record: TableDto, query: ListTablesQuery })
  list(@Query() query: ListTablesQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.tables.records, query, exchange);
  }

  @Get(':id')
  @Public()
  @ApiGet(TABLE, { record: TableDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.tables.records.get(id));
  }

  @Post()
  @Scopes('tables:write')
  @ApiCreate(TABLE, { record: TableDto, body: CreateTableDto })
  async create(@Body() body: CreateTableDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(TABLE, await this.tables.records.create({ ...body, isOpen: true }));
  }
}

@Controller('bookings')
export class BookingsController {
  constructor(
    private readonly bookings: BookingsService,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('bookings:read')
  @ApiList(BOOKING, { record: BookingDto, query: ListBookingsQuery })
  list(@Query() query: ListBookingsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.bookings.records, query, exchange);
  }

  @Get('mine')
  @Scopes('bookings:read')
  @ApiList(BOOKING, { record: BookingDto, query: ListBookingsQuery, operationId: 'listOwnBookings' })
  listOwn(@Query() query: ListBookingsQuery, @Exchange() exchange: ResourceExchange) {
    const { subject: owner } = exchange.request.user!;
    return this.lists.respond(this.bookings.records.where({ owner }), query, exchange);
  }

  @Get(':id')
  @Scopes('bookings:read')
  @ApiGet(BOOKING, { record: BookingDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.bookings.records.get(id));
  }

  @Post()
  @Scopes('bookings:write')
  @ApiCreate(BOOKING, { record: BookingDto, body: CreateBookingDto, errors: [missingReference('tableId')] })
  async create(@Body() body: CreateBookingDto, @Exchange() exchange: ResourceExchange) {
    const { subject: owner } = exchange.request.user!;
    return exchange.created(BOOKING, await this.bookings.records.create({ ...body, status: 'booked', owner }));
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('bookings:write')
  @ApiPatch(BOOKING, { body: PatchBookingDto })
  async patch(@RecordId() id: number, @Body() body: PatchBookingDto, @Exchange() exchange: ResourceExchange) {
    exchange.changed(await this.bookings.records.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('bookings:write')
  @ApiDelete(BOOKING)
  async delete(@RecordId() id: number, @Exchange() { preconditions }: ResourceExchange): Promise<void> {
    await this.bookings.delete(id, preconditions);
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Scopes('bookings:write')
  @ApiAction(BOOKING, 'cancel', { record: BookingDto, summary: 'Cancel a booking', errors: [ALREADY_SEATED] })
  async cancel(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.bookings.cancel(id, exchange.preconditions));
  }

  @Post(':id/restore')
  @HttpCode(200)
  @Scopes('bookings:write')
  @ApiAction(BOOKING, 'restore', { record: BookingDto, summary: 'Restore a deleted booking' })
  async restore(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.bookings.restore(id, exchange.preconditions));
  }
}

@Controller('tables/:id/bookings')
export class BookingsOfTableController {
  constructor(
    private readonly tables: TablesService,
    private readonly bookings: BookingsService,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('bookings:read')
  @ApiList(BOOKING, { record: BookingDto, query: ListBookingsOfTableQuery, of: TABLE })
  async list(
    @RecordId() tableId: number,
    @Query() query: ListBookingsOfTableQuery,
    @Exchange() exchange: ResourceExchange,
  ) {
    await this.tables.records.get(tableId);
    return this.lists.respond(this.bookings.records.where({ tableId }), query, exchange);
  }
}
