import { Module } from '@nestjs/common';
import { ResourceModule } from '../../src/resource/resource.module.js';
import { Remark, Permit } from './permit.entity.js';
import { REMARK, PERMIT } from './permit.values.js';
import { RemarksController, PermitsController } from './permits.controller.js';

@Module({
  imports: [
    ResourceModule.forFeature({ name: PERMIT, entity: Permit, capacity: () => 100 }),
    ResourceModule.forFeature({ name: REMARK, entity: Remark, capacity: () => 100 }),
  ],
  controllers: [PermitsController, RemarksController],
})
export class PermitsModule {}
