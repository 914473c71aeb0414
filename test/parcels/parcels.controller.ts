import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query } from '@nestjs/common';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import {
  ApiCreate,
  ApiDelete,
  ApiGet,
  ApiList,
  ApiPatch,
  ApiReplace,
  missingReference,
} from '../../src/resource/operations.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { InjectResource } from '../../src/resource/resource.module.js';
import { CreateParcelDto, ListParcelsQuery, ParcelDto, PatchParcelDto } from './parcel.dto.js';
import { Parcel } from './parcel.entity.js';
import { PARCEL } from './parcel.values.js';

const errors = [missingReference('cookieId')];

@Controller('parcels')
export class ParcelsController {
  constructor(
    @InjectResource(Parcel) private readonly parcels: ResourceRepository<Parcel>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('parcels:read')
  @ApiList(PARCEL, { record: ParcelDto, query: ListParcelsQuery })
  list(@Query() query: ListParcelsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.parcels, query, exchange);
  }

  @Get(':id')
  @Scopes('parcels:read')
  @ApiGet(PARCEL, { record: ParcelDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.parcels.get(id));
  }

  @Post()
  @Scopes('parcels:write')
  @ApiCreate(PARCEL, { record: ParcelDto, body: CreateParcelDto, errors })
  async create(@Body() body: CreateParcelDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(PARCEL, await this.parcels.create(body, exchange.preconditions));
  }

  @Put(':id')
  @Scopes('parcels:write')
  @ApiReplace(PARCEL, { record: ParcelDto, body: CreateParcelDto, errors })
  async replace(@RecordId() id: number, @Body() body: CreateParcelDto, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.parcels.update(id, body, exchange.preconditions));
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('parcels:write')
  @ApiPatch(PARCEL, { body: PatchParcelDto, errors })
  async patch(@RecordId() id: number, @Body() body: PatchParcelDto, @Exchange() exchange: ResourceExchange) {
    exchange.changed(await this.parcels.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('parcels:write')
  @ApiDelete(PARCEL)
  delete(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return this.parcels.delete(id, exchange.preconditions);
  }
}
