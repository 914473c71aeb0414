import { Controller, Get, Module, Query } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, ResourceExchange } from '../../src/resource/exchange.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import { ApiList } from '../../src/resource/operations.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { InjectResource, ResourceModule } from '../../src/resource/resource.module.js';
import { ListHeavyReadingsQuery, ListReadingsOfBatchQuery, ListReadingsQuery, ReadingDto } from './reading.dto.js';
import { Reading, READING } from './reading.entity.js';

@Controller('readings')
class ReadingsController {
  constructor(
    @InjectResource(Reading) private readonly readings: ResourceRepository<Reading>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('readings:read')
  @ApiList(READING, { record: ReadingDto, query: ListReadingsQuery })
  list(@Query() query: ListReadingsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.readings, query, exchange);
  }

  @Get('heavy')
  @Scopes('readings:read')
  @ApiExcludeEndpoint()
  listHeavy(@Query() query: ListHeavyReadingsQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.readings, query, exchange);
  }

  @Get('of-batch')
  @Scopes('readings:read')
  @ApiExcludeEndpoint()
  listOfBatch(@Query() query: ListReadingsOfBatchQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.readings, query, exchange);
  }
}

@Module({
  imports: [ResourceModule.forFeature({ name: READING, entity: Reading, capacity: () => 1_000_000 })],
  controllers: [ReadingsController],
})
export class ReadingsModule {}
