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
  OutingDto,
  CreateOutingDto,
  CreateSleighDto,
  ListOutingsOfSleighQuery,
  ListOutingsQuery,
  ListSleighsQuery,
  PatchOutingDto,
  SleighDto,
} from './outing.dto.js';
import { OUTING, SLEIGH } from './outing.entity.js';
import { SLEIGH_TAKEN } from './outing.rule.js';
import { ALREADY_SEATED, OutingsService, SleighsService } from './outings.service.js';

/** Reads of sleighs are public. */
@Controller('sleighs')
export class SleighsController {
  constructor(
    private readonly sleighs: SleighsService,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Public()
  @ApiList(SLEIGH, { record: SleighDto, query: ListSleighsQuery })
  list(@Query() query: ListSleighsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.sleighs.records, query, exchange);
  }

  @Get(':id')
  @Public()
  @ApiGet(SLEIGH, { record: SleighDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.sleighs.records.get(id));
  }

  @Post()
  @Scopes('sleighs:write')
  @ApiCreate(SLEIGH, { record: SleighDto, body: CreateSleighDto })
  async create(@Body() body: CreateSleighDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(
      SLEIGH,
      await this.sleighs.records.create({ ...body, isOpen: true }, exchange.preconditions),
    );
  }
}

@Controller('outings')
export class OutingsController {
  constructor(
    private readonly outings: OutingsService,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('outings:read')
  @ApiList(OUTING, { record: OutingDto, query: ListOutingsQuery })
  list(@Query() query: ListOutingsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.outings.records, query, exchange);
  }

  @Get('mine')
  @Scopes('outings:read')
  @ApiList(OUTING, { record: OutingDto, query: ListOutingsQuery, operationId: 'listOwnOutings' })
  listOwn(@Query() query: ListOutingsQuery, @Exchange() exchange: ResourceExchange) {
    const { subject: owner } = exchange.request.user!;
    return this.lists.respond(this.outings.records.where({ owner }), query, exchange);
  }

  @Get(':id')
  @Scopes('outings:read')
  @ApiGet(OUTING, { record: OutingDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.outings.records.get(id));
  }

  @Post()
  @Scopes('outings:write')
  @ApiCreate(OUTING, {
    record: OutingDto,
    body: CreateOutingDto,
    errors: [missingReference('sleighId'), SLEIGH_TAKEN],
  })
  async create(@Body() body: CreateOutingDto, @Exchange() exchange: ResourceExchange) {
    const { subject: owner } = exchange.request.user!;
    const values = { ...body, status: 'booked', owner } as const;
    return exchange.created(OUTING, await this.outings.records.create(values, exchange.preconditions));
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('outings:write')
  @ApiPatch(OUTING, { body: PatchOutingDto, errors: [SLEIGH_TAKEN] })
  async patch(@RecordId() id: number, @Body() body: PatchOutingDto, @Exchange() exchange: ResourceExchange) {
    exchange.changed(await this.outings.records.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('outings:write')
  @ApiDelete(OUTING)
  async delete(@RecordId() id: number, @Exchange() { preconditions }: ResourceExchange): Promise<void> {
    await this.outings.delete(id, preconditions);
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Scopes('outings:write')
  @ApiAction(OUTING, 'cancel', { record: OutingDto, summary: 'Cancel an outing', errors: [ALREADY_SEATED] })
  async cancel(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.outings.cancel(id, exchange.preconditions));
  }

  @Post(':id/restore')
  @HttpCode(200)
  @Scopes('outings:write')
  @ApiAction(OUTING, 'restore', { record: OutingDto, summary: 'Restore a deleted outing', errors: [SLEIGH_TAKEN] })
  async restore(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.outings.restore(id, exchange.preconditions));
  }
}

@Controller('sleighs/:id/outings')
export class OutingsOfSleighController {
  constructor(
    private readonly sleighs: SleighsService,
    private readonly outings: OutingsService,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('outings:read')
  @ApiList(OUTING, { record: OutingDto, query: ListOutingsOfSleighQuery, of: SLEIGH })
  async list(
    @RecordId() sleighId: number,
    @Query() query: ListOutingsOfSleighQuery,
    @Exchange() exchange: ResourceExchange,
  ) {
    await this.sleighs.records.get(sleighId);
    return this.lists.respond(this.outings.records.where({ sleighId }), query, exchange);
  }
}
