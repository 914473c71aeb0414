import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query } from '@nestjs/common';
import { Scopes } from '../../src/auth/scopes.decorator.js';
import { Exchange, ResourceExchange } from '../../src/resource/exchange.js';
import { ResourceLists } from '../../src/resource/lists/resource-lists.js';
import { missingReference } from '../../src/resource/openapi/errors.js';
import { ApiCreate, ApiDelete, ApiGet, ApiList, ApiPatch, ApiReplace } from '../../src/resource/openapi/operations.js';
import { RecordId } from '../../src/resource/record-id.js';
import { ResourceService } from '../../src/resource/resource-service.js';
import { InjectResource } from '../../src/resource/resource.module.js';
import { CreateOrderDto, ListOrdersQuery, OrderDto, PatchOrderDto } from './order.dto.js';
import { Order } from './order.entity.js';
import { ORDER } from './order.values.js';

const errors = [missingReference('cookieId')];

@Controller('orders')
export class OrdersController {
  constructor(
    @InjectResource(Order) private readonly orders: ResourceService<Order>,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('orders:read')
  @ApiList(ORDER, { record: OrderDto, query: ListOrdersQuery })
  list(@Query() query: ListOrdersQuery, @Exchange() exchange: ResourceExchange) {
    return this.lists.respond(this.orders, query, exchange);
  }

  @Get(':id')
  @Scopes('orders:read')
  @ApiGet(ORDER, { record: OrderDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return exchange.record(await this.orders.get(id));
  }

  @Post()
  @Scopes('orders:write')
  @ApiCreate(ORDER, { record: OrderDto, body: CreateOrderDto, errors })
  async create(@Body() body: CreateOrderDto, @Exchange() exchange: ResourceExchange) {
    return exchange.created(ORDER, await this.orders.create(body));
  }

  @Put(':id')
  @Scopes('orders:write')
  @ApiReplace(ORDER, { record: OrderDto, body: CreateOrderDto, errors })
  async replace(@RecordId() id: number, @Body() body: CreateOrderDto, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.orders.update(id, body, exchange.preconditions));
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('orders:write')
  @ApiPatch(ORDER, { body: PatchOrderDto, errors })
  async patch(@RecordId() id: number, @Body() body: PatchOrderDto, @Exchange() exchange: ResourceExchange) {
    exchange.changed(await this.orders.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('orders:write')
  @ApiDelete(ORDER)
  delete(@RecordId() id: number, @Exchange() exchange: ResourceExchange) {
    return this.orders.delete(id, exchange.preconditions);
  }
}
