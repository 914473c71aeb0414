import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import {
  ApiCreate,
  ApiDelete,
  ApiGet,
  ApiList,
  missingReference,
  STILL_REFERENCED,
} from '../../src/resource/operations.js';
import { InjectResource } from '../../src/resource/resource.module.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import {
  CreateRemarkDto,
  CreatePermitDto,
  ListRemarksQuery,
  ListPermitsQuery,
  RemarkDto,
  PermitDto,
} from './permit.dto.js';
import { Remark, Permit } from './permit.entity.js';
import { REMARK, PERMIT } from './permit.values.js';

const errors = [missingReference('permitId')];

@Controller('permits')
export class PermitsController {
  constructor(
    @InjectResource(Permit) private readonly permits: ResourceRepository<Permit>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('permits:read')
  @ApiList(PERMIT, { record: PermitDto, query: ListPermitsQuery })
  list(@Query() query: ListPermitsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.permits, query, exchange);
  }

  @Get(':id')
  @Scopes('permits:read')
  @ApiGet(PERMIT, { record: PermitDto })
  async get(@RecordId(PERMIT) id: string, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.permits.get(id));
  }

  @Post()
  @Scopes('permits:write')
  @ApiCreate(PERMIT, { record: PermitDto, body: CreatePermitDto })
  async create(@Body() body: CreatePermitDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(PERMIT, await this.permits.create(body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('permits:write')
  @ApiDelete(PERMIT, { errors: [STILL_REFERENCED] })
  delete(@RecordId(PERMIT) id: string, @Exchange() exchange: ResourceExchange) {
    return this.permits.delete(id, exchange.preconditions);
  }
}

@Controller('remarks')
export class RemarksController {
  constructor(
    @InjectResource(Remark) private readonly remarks: ResourceRepository<Remark>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('remarks:read')
  @ApiList(REMARK, { record: RemarkDto, query: ListRemarksQuery })
  list(@Query() query: ListRemarksQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.remarks, query, exchange);
  }

  @Post()
  @Scopes('remarks:write')
  @ApiCreate(REMARK, { record: RemarkDto, body: CreateRemarkDto, errors })
  async create(@Body() body: CreateRemarkDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(REMARK, await this.remarks.create(body, exchange.preconditions));
  }
}
