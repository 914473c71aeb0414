import { Body, Controller, Delete, Get, HttpCode, Module, Post, Query } from '@nestjs/common';
import { Column, Entity, type MigrationInterface, type QueryRunner } from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import { UUID_IDS } from '../../src/resource/id-kinds.js';
import { IdFilter, ListQueryOf } from '../../src/resource/lists/list-query.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import {
  ApiCreate,
  ApiDelete,
  ApiGet,
  ApiList,
  missingReference,
  STILL_REFERENCED,
} from '../../src/resource/operations.js';
import { IdProperty, IntegerProperty, RecordOf, TextProperty } from '../../src/resource/properties.js';
import { References, ResourceEntity, UuidResourceEntity } from '../../src/resource/resource-entity.js';
import { InjectResource, ResourceModule } from '../../src/resource/resource.module.js';
import { ResourceName } from '../../src/resource/resource.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';

const PERMIT = new ResourceName('permit', 'permits', UUID_IDS);
const REMARK = new ResourceName('remark');

@Entity('permits')
export class Permit extends UuidResourceEntity {
  @Column('varchar')
  title!: string;

  @Column('integer')
  seats!: number;
}

/** A resource with integer ids that refers to a resource with UUIDs. */
@Entity('remarks')
class Remark extends ResourceEntity {
  @Column('varchar')
  text!: string;

  @References('Permit', { ids: UUID_IDS })
  permitId!: string;
}

export class CreatePermits1790000400000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'permits', {
      ids: 'uuid',
      columns: { title: 'varchar', seats: 'integer' },
    });
    await createResourceTable(queryRunner, 'remarks', {
      columns: { text: 'varchar', permitId: 'uuid' },
      references: { permitId: 'permits' },
    });
  }

  async down(): Promise<void> {}
}

class CreatePermitDto {
  @TextProperty(1, 60, { example: 'Row 1' })
  title!: string;

  @IntegerProperty(1, 9)
  seats!: number;
}

class PermitDto extends RecordOf(CreatePermitDto, PERMIT) {}

class ListPermitsQuery extends ListQueryOf(PERMIT) {}

class CreateRemarkDto {
  @TextProperty(1, 100, { example: 'Sold' })
  text!: string;

  @IdProperty({ ids: UUID_IDS })
  permitId!: string;
}

class RemarkDto extends RecordOf(CreateRemarkDto) {}

class ListRemarksQuery extends ListQueryOf(REMARK) {
  @IdFilter('Only remarks of this permit; repeat it for "or".', UUID_IDS)
  permitId?: string[];
}

@Controller('permits')
class PermitsController {
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
class RemarksController {
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
  @ApiCreate(REMARK, { record: RemarkDto, body: CreateRemarkDto, errors: [missingReference('permitId')] })
  async create(@Body() body: CreateRemarkDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(REMARK, await this.remarks.create(body, exchange.preconditions));
  }
}

@Module({
  imports: [
    ResourceModule.forFeature({ name: PERMIT, entity: Permit, capacity: () => 100 }),
    ResourceModule.forFeature({ name: REMARK, entity: Remark, capacity: () => 100 }),
  ],
  controllers: [PermitsController, RemarksController],
})
export class PermitsModule {}
