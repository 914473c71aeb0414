import { Module } from '@nestjs/common';
import { Health } from './health.js';
import { Lifecycle } from './lifecycle.js';
import { ManagementServer } from './management-server.js';
import { Metrics } from './metrics.js';

@Module({ providers: [Lifecycle, Health, Metrics, ManagementServer] })
export class ManagementModule {}
