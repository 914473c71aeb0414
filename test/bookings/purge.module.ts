import { Injectable, Module } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Leases } from '../../src/resource/leases.js';
import { BookingsModule } from './bookings.module.js';
import { BookingsService } from './bookings.service.js';

/** Milliseconds. */
const HOUR = 3_600_000;

@Injectable()
export class PurgeService {
  constructor(
    private readonly bookings: BookingsService,
    private readonly leases: Leases,
  ) {}

  /** From 3:00 to 3:59 each process offers to do it every minute: the first one does, and another one if that dies. */
  @Cron('* 3 * * *', { name: 'purge', timeZone: 'Europe/Berlin', waitForCompletion: true })
  async purge(): Promise<void> {
    await this.leases.run({
      name: 'purge-bookings',
      every: 12 * HOUR,
      batch: (transaction) => this.bookings.purge(transaction),
    });
  }
}

@Module({ imports: [BookingsModule, ScheduleModule.forRoot()], providers: [PurgeService] })
export class PurgeModule {}
