import { Body, Controller, Delete, HttpCode, Module, Post, Put, UseGuards } from '@nestjs/common';
import { PartialType } from '@nestjs/swagger';
import {
  Check,
  Column,
  CreateDateColumn,
  Entity,
  ForeignKey,
  Index,
  type MigrationInterface,
  type QueryRunner,
  TableForeignKey,
  UpdateDateColumn,
} from 'typeorm';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import { ApiCreate, ApiDelete, ApiReplace } from '../../src/resource/operations.js';
import { DecimalProperty, RecordOf, TextProperty } from '../../src/resource/properties.js';
import { hasLength, ResourceEntity } from '../../src/resource/resource-entity.js';
import { InjectResource, ResourceModule } from '../../src/resource/resource.module.js';
import { ResourceName } from '../../src/resource/resource.js';
import { createResourceTable } from '../../src/resource/store/resource-migration.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { AccountGuard } from '../support/account-guard.js';

const DEED = new ResourceName('deed');
const RIDER = new ResourceName('rider');

/** A record with a value of each kind that needs special care in JSON. */
@Entity('deeds')
@Check('deeds_title', hasLength('title', 1, 60))
export class Deed extends ResourceEntity {
  @Column('varchar')
  title!: string;

  @Column('decimal', { precision: 10, scale: 2, nullable: true })
  price!: string | null;

  @Column('double precision', { default: 0.1 })
  area!: number;

  @Column('boolean', { default: false })
  isPublic!: boolean;

  @CreateDateColumn()
  createdAt!: Date;

  @UpdateDateColumn()
  updatedAt!: Date;
}

/** A record that is deleted with its deed. */
@Entity('riders')
export class Rider extends ResourceEntity {
  /** Its column has the name of a variable in the audit triggers. */
  @Column('varchar', { name: 'actors' })
  text!: string;

  @Index()
  @Column('integer')
  @ForeignKey('Deed', { onDelete: 'CASCADE' })
  deedId!: number;
}

export class CreateDeeds1790000500000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createResourceTable(queryRunner, 'deeds', {
      columns: {
        title: 'varchar',
        price: { type: 'decimal', precision: 10, scale: 2, isNullable: true },
        area: { type: 'double precision', default: 0.1 },
        isPublic: { type: 'boolean', default: false },
      },
      checks: { deeds_title: hasLength('title', 1, 60) },
      hasTimestamps: true,
    });
    await createResourceTable(queryRunner, 'riders', {
      columns: { actors: 'varchar', deedId: 'integer' },
      indices: [['deedId']],
    });
    const columns = { columnNames: ['deedId'], referencedTableName: 'deeds', referencedColumnNames: ['id'] };
    await queryRunner.createForeignKey('riders', new TableForeignKey({ ...columns, onDelete: 'CASCADE' }));
  }

  async down(): Promise<void> {}
}

class CreateDeedDto {
  @TextProperty(1, 60, { example: 'Meadow' })
  title!: string;

  @DecimalProperty(10, 2, { isOptional: true })
  price!: string | null;
}

class ReplaceDeedDto extends PartialType(CreateDeedDto) {}

class DeedDto extends RecordOf(CreateDeedDto) {}

const DEFAULTS = { area: 0.1, isPublic: false };

/** Passes no preconditions on, and a guard replaces the user; the audit trail still names the subject of the token. */
@Controller('deeds')
@UseGuards(AccountGuard)
class DeedsController {
  constructor(@InjectResource(Deed) private readonly deeds: ResourceRepository<Deed>) {}

  @Post()
  @Scopes('deeds:write')
  @ApiCreate(DEED, { record: DeedDto, body: CreateDeedDto })
  async create(@Body() body: CreateDeedDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(DEED, await this.deeds.create({ ...DEFAULTS, ...body }));
  }

  /** Writes in one transaction with the resource kit and with SQL. */
  @Post('pairs')
  @Scopes('deeds:write')
  createPair(@Body() body: CreateDeedDto): Promise<void> {
    return this.deeds.transaction(async (transaction) => {
      await this.deeds.in(transaction).create({ ...DEFAULTS, ...body });
      await transaction.sql`INSERT INTO deeds (title) VALUES (${body.title})`;
    });
  }

  @Put(':id')
  @Scopes('deeds:write')
  @ApiReplace(DEED, { record: DeedDto, body: ReplaceDeedDto })
  async replace(@RecordId() id: number, @Body() body: ReplaceDeedDto) {
    return (await this.deeds.update(id, body)).record;
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('deeds:write')
  @ApiDelete(DEED)
  delete(@RecordId() id: number): Promise<void> {
    return this.deeds.delete(id);
  }
}

@Module({
  imports: [
    ResourceModule.forFeature({ name: DEED, entity: Deed, capacity: () => 1000, audited: true }),
    ResourceModule.forFeature({ name: RIDER, entity: Rider, capacity: () => 1000, audited: true }),
  ],
  controllers: [DeedsController],
})
export class DeedsModule {}
