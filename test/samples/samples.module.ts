import { Body, Controller, Delete, Get, HttpCode, Module, Patch, Post, Put, Query } from '@nestjs/common';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../../src/resource/exchange.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import {
  alreadyExists,
  ApiCreate,
  ApiDelete,
  ApiGet,
  ApiList,
  ApiPatch,
  ApiReplace,
  missingReference,
  STILL_REFERENCED,
} from '../../src/resource/operations.js';
import { InjectResource, ResourceModule } from '../../src/resource/resource.module.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { CreateSampleDto, ListSamplesQuery, PatchSampleDto, SampleDto } from './sample.dto.js';
import { Sample, SAMPLE } from './sample.entity.js';

const errors = [
  missingReference('cookieId'),
  missingReference('otherId'),
  missingReference('wholeId'),
  alreadyExists('code'),
  alreadyExists('quantity', 'day'),
];

/** The values of properties that a body omits. */
const DEFAULTS = {
  note: null,
  points: null,
  isOpen: true,
  isGift: null,
  endsAt: null,
  lastDay: null,
  price: '1.50',
  tip: null,
  batchId: null,
  paper: null,
  otherId: null,
  wholeId: null,
  delivery: null,
} as const;

@Controller('samples')
export class SamplesController {
  constructor(
    @InjectResource(Sample) private readonly samples: ResourceRepository<Sample>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Public()
  @ApiList(SAMPLE, { record: SampleDto, query: ListSamplesQuery })
  list(@Query() query: ListSamplesQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.samples, query, exchange);
  }

  @Get(':id')
  @Public()
  @ApiGet(SAMPLE, { record: SampleDto })
  async get(@RecordId(SAMPLE) id: string, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.samples.get(id));
  }

  @Post()
  @Scopes('samples:write')
  @ApiCreate(SAMPLE, { record: SampleDto, body: CreateSampleDto, errors })
  async create(@Body() body: CreateSampleDto, @Exchange() exchange: ResourceExchange) {
    const values = { ...DEFAULTS, state: 'new', ...body } as const;
    return exchange.created(SAMPLE, await this.samples.create(values, exchange.preconditions));
  }

  @Put(':id')
  @Scopes('samples:write')
  @ApiReplace(SAMPLE, { record: SampleDto, body: CreateSampleDto, errors })
  async replace(@RecordId(SAMPLE) id: string, @Body() body: CreateSampleDto, @Exchange() exchange: ResourceExchange) {
    return (await this.samples.update(id, { ...DEFAULTS, ...body }, exchange.preconditions)).record;
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('samples:write')
  @ApiPatch(SAMPLE, { body: PatchSampleDto, errors })
  async patch(@RecordId(SAMPLE) id: string, @Body() body: PatchSampleDto, @Exchange() exchange: ResourceExchange) {
    exchange.changed(await this.samples.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('samples:write')
  @ApiDelete(SAMPLE, { errors: [STILL_REFERENCED] })
  delete(@RecordId(SAMPLE) id: string, @Exchange() exchange: ResourceExchange) {
    return this.samples.delete(id, exchange.preconditions);
  }
}

@Module({
  imports: [ResourceModule.forFeature({ name: SAMPLE, entity: Sample, capacity: () => 10_000 })],
  controllers: [SamplesController],
})
export class SamplesModule {}
