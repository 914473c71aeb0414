import { Global, Module } from '@nestjs/common';
import { DatabaseMetrics } from './database-metrics.js';
import { Health } from './health.js';
import { ManagementServer } from './management-server.js';
import { Metrics } from './metrics.js';
import { ReportedResources } from './reported-resources.js';

@Global()
@Module({
  providers: [Health, Metrics, DatabaseMetrics, ManagementServer, ReportedResources],
  exports: [Health, Metrics, ReportedResources],
})
export class ManagementModule {}
