import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ResourceModule } from '../../src/resource/resource.module.js';
import { Outing, OUTING, Sleigh, SLEIGH } from './outing.entity.js';
import { OUTING_RULE } from './outing.rule.js';
import { OutingsController, OutingsOfSleighController, SleighsController } from './outings.controller.js';
import { OutingsService, SleighsService } from './outings.service.js';

/** Sleighs and outings: a rule over instants, actions, a nested list, public reads, soft deletion, scheduled work. */
@Module({
  imports: [
    ScheduleModule.forRoot(),
    ResourceModule.forFeature({ name: SLEIGH, entity: Sleigh, capacity: () => 1000 }),
    ResourceModule.forFeature({
      name: OUTING,
      entity: Outing,
      capacity: () => 10_000,
      rule: () => Promise.resolve(OUTING_RULE),
    }),
  ],
  controllers: [SleighsController, OutingsController, OutingsOfSleighController],
  providers: [SleighsService, OutingsService],
  exports: [SleighsService, OutingsService],
})
export class OutingsModule {}
