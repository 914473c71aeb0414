import { Body, Controller, Delete, Get, HttpCode, Module, Patch, Post, Put, Query } from '@nestjs/common';
import { PartialType } from '@nestjs/swagger';
import { Column, Entity, type MigrationInterface, type QueryRunner } from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import { EnumFilter, IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import {
  ApiCreate,
  ApiDelete,
  ApiGet,
  ApiList,
  ApiPatch,
  ApiReplace,
  missingReference,
} from '../../src/resource/operations.js';
import { EnumProperty, IdProperty, IntegerProperty, RecordOf } from '../../src/resource/properties.js';
import { References, ResourceEntity } from '../../src/resource/resource-entity.js';
import { InjectResource, ResourceModule } from '../../src/resource/resource.module.js';
import { ResourceName } from '../../src/resource/resource.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';

export const PARCEL = new ResourceName('parcel');
const STATUSES = ['open', 'paid', 'shipped'] as const;
type Status = (typeof STATUSES)[number];

@Entity('parcels')
export class Parcel extends ResourceEntity {
  @Column('integer')
  quantity!: number;

  @Column('varchar')
  status!: Status;

  @References('Cookie')
  cookieId!: number;
}

export class CreateParcels1790000200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'parcels', {
      columns: { quantity: 'integer', status: 'varchar', cookieId: 'integer' },
      references: { cookieId: 'cookies' },
    });
  }

  async down(): Promise<void> {}
}

const STATUS = { enum: STATUSES, enumName: 'ParcelStatus' } as const;

class CreateParcelDto {
  @IntegerProperty(1, 1000, { example: 12 })
  quantity!: number;

  @EnumProperty(STATUS)
  status!: Status;

  @IdProperty()
  cookieId!: number;
}

class PatchParcelDto extends PartialType(CreateParcelDto, { skipNullProperties: false }) {}

class ParcelDto extends RecordOf(CreateParcelDto) {}

class ListParcelsQuery extends ListQueryOf(PARCEL) {
  @EnumFilter(STATUS, 'Only parcels of this status; repeat it for "or".')
  status?: Status[];

  @IdFilter('Only parcels of this cookie; repeat it for "or".')
  cookieId?: number[];
}

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

@Module({
  imports: [ResourceModule.forFeature({ name: PARCEL, entity: Parcel, capacity: () => 50 })],
  controllers: [ParcelsController],
})
export class ParcelsModule {}
