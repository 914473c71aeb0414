import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { serviceVersion } from '../config/service-version.js';
import { LiveConfig, settingsInForce } from '../database/polling/live-config.js';
import { standardOutput } from '../logging/standard-output.js';
import { addGauge } from './add-gauge.js';
import { recordCount, ReportedResources } from './reported-resources.js';

@Injectable()
export class Metrics {
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
    const gauge = (name: string, help: string, labelNames: string[], read: Parameters<typeof addGauge>[3]) =>
      // All workers have the same values.
      addGauge(this.registry, name, help, read, { labelNames, aggregator: 'first' });
    const version = serviceVersion();
    gauge('build_info', 'Version of the service; the value is always 1', ['version'], () => [[{ version }, 1]]);
    gauge('storage_records', 'Stored records', ['resource'], async () => {
      // Read concurrently, so that a database that does not respond costs the time-out once, not for each resource.
      const counts = await Promise.all(resources.all.map((resource) => recordCount(resource, dataSource)));
      const values = resources.all.map(({ resource }, index) => [{ resource }, counts[index]!] as const);
      return values.filter(([, count]) => count !== undefined);
    });
    gauge('storage_capacity_records', 'Records that may be stored', ['resource'], () =>
      resources.all.map(({ resource, capacity }) => [{ resource }, capacity]),
    );
    const start = Math.floor(Date.now() / 1000 - process.uptime());
    gauge(
      'setting_in_force_timestamp_seconds',
      'When a setting got its value: by cli set (source "database"), or at the start ("environment")',
      ['name', 'value', 'source'],
      () =>
        settingsInForce(live.current, live.stored).map(({ name, value, stored }) => {
          const source = stored === undefined ? 'environment' : 'database';
          return [{ name, value, source }, stored === undefined ? start : Number(stored.changed) / 1000];
        }),
    );
    new Counter({
      name: 'log_lines_dropped_total',
      help: 'Log lines that were dropped because the reader of the log stalled',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(standardOutput().dropped);
      },
    });
  }
}
