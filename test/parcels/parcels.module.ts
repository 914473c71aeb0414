import { Module } from '@nestjs/common';
import { ResourceModule } from '../../src/resource/resource.module.js';
import { Parcel } from './parcel.entity.js';
import { PARCEL } from './parcel.values.js';
import { ParcelsController } from './parcels.controller.js';

@Module({
  imports: [ResourceModule.forFeature({ name: PARCEL, entity: Parcel, capacity: () => 50 })],
  controllers: [ParcelsController],
})
export class ParcelsModule {}
