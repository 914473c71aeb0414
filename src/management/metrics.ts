import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { levels } from 'pino';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { serviceVersion } from '../config/service-version.js';
import { committed } from '../database/engine.js';
import { LiveConfig, settingsInForce } from '../database/polling/live-config.js';
import { standardOutput } from '../logging/standard-output.js';
import { ReportedResources } from './reported-resources.js';
import { withinTimeout } from './database-timeout.js';

/** The metrics of one application. Each application has its own registry. */
@Injectable()
export class Metrics implements OnModuleDestroy {
  readonly registry = new Registry();

  /** Counts lists that ended with an error after their first bytes. The resource layer increases it. */
  readonly cutOffLists = new Counter({
    name: 'http_lists_cut_off_total',
    help: 'Lists that ended incomplete: read too slowly, displaced by other readers, or failed while they were read',
    labelNames: ['route'],
    registers: [this.registry],
  });

  constructor(resources: ReportedResources, live: LiveConfig, dataSource: DataSource) {
    collectDefaultMetrics({ register: this.registry });
    new Gauge({
      name: 'build_info',
      help: 'Version of the service; the value is always 1',
      labelNames: ['version'],
      aggregator: 'first',
      registers: [this.registry],
    }).set({ version: serviceVersion() }, 1);
    new Gauge({
      name: 'storage_records',
      help: 'Stored records',
      labelNames: ['resource'],
      // All workers have the same value.
      aggregator: 'first',
      registers: [this.registry],
      async collect() {
        this.reset();
        // Read concurrently, so that a database that does not respond costs the time-out once, not for each resource.
        await Promise.all(
          resources.all.map(async (resource) => {
            // The other metrics are available without the database.
            const reading = resource.usage(committed(dataSource)).catch(() => undefined);
            const usage = await withinTimeout(reading, undefined);
            if (usage !== undefined) this.set({ resource: resource.resource }, usage.count);
          }),
        );
      },
    });
    new Gauge({
      name: 'storage_capacity_records',
      help: 'Records that may be stored',
      labelNames: ['resource'],
      // All workers have the same value.
      aggregator: 'first',
      registers: [this.registry],
      collect() {
        for (const { resource, capacity } of resources.all) this.set({ resource }, capacity);
      },
    });
    const start = Math.floor(Date.now() / 1000 - process.uptime());
    new Gauge({
      name: 'setting_in_force_timestamp_seconds',
      help: 'When a setting got its value: by cli set (source "database"), or at the start ("environment")',
      labelNames: ['name', 'value', 'source'],
      // All workers have the same values.
      aggregator: 'first',
      registers: [this.registry],
      collect() {
        this.reset();
        for (const { name, value, stored } of settingsInForce(live.current, live.stored)) {
          const source = stored === undefined ? 'environment' : 'database';
          this.set({ name, value, source }, stored === undefined ? start : Number(stored.changed) / 1000);
        }
      },
    });
    new Counter({
      name: 'log_lines_dropped_total',
      help: 'Log lines that were dropped because the reader of the log stalled',
      labelNames: ['level'],
      registers: [this.registry],
      collect() {
        const { dropped } = standardOutput();
        this.reset();
        for (const [level, label] of Object.entries(levels.labels)) {
          this.inc({ level: label }, dropped.get(Number(level)) ?? 0);
        }
      },
    });
  }

  onModuleDestroy(): void {
    this.registry.clear();
  }
}
