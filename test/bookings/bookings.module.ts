import { Module } from '@nestjs/common';
import { ResourceModule } from '../../src/resource/resource.module.js';
import { Booking, BOOKING, Table, TABLE } from './booking.entity.js';
import { BookingsController, BookingsOfTableController, TablesController } from './bookings.controller.js';
import { BookingsService, TablesService } from './bookings.service.js';

/** Tables and their bookings: actions, a list below a parent, public reads and soft deletion. */
@Module({
  imports: [
    ResourceModule.forFeature({ name: TABLE, entity: Table, capacity: () => 1000 }),
    ResourceModule.forFeature({ name: BOOKING, entity: Booking, capacity: () => 10_000 }),
  ],
  controllers: [TablesController, BookingsController, BookingsOfTableController],
  providers: [TablesService, BookingsService],
  exports: [TablesService, BookingsService],
})
export class BookingsModule {}
