import { Module } from '@nestjs/common';
import { ResourceModule } from '../../src/resource/resource.module.js';
import { Order } from './order.entity.js';
import { ORDER } from './order.values.js';
import { OrdersController } from './orders.controller.js';

@Module({
  imports: [ResourceModule.forFeature({ name: ORDER, entity: Order, capacity: () => 50 })],
  controllers: [OrdersController],
})
export class OrdersModule {}
