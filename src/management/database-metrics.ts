import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import {
  type BatchEvent,
  batches,
  ENGINE_ERRORS,
  type EngineError,
  engineErrors,
} from '../database/database-events.js';
import { engineOf } from '../database/engine.js';
import { addGauge } from './add-gauge.js';
import { addBackupGauges } from './backup-gauges.js';
import { Metrics } from './metrics.js';

/** Metrics of the database: errors of the engine, batches, connections and, with SQLite, the size of its files and its last backup. */
@Injectable()
export class DatabaseMetrics implements OnModuleDestroy {
  private readonly errors: Counter<'kind'>;
  private readonly batchSizes: Histogram<'kind'>;
  private readonly batchWaits: Histogram<'kind'>;

  constructor({ registry }: Metrics, { database: { url, backupFolder } }: Config, dataSource: DataSource) {
    const ofKind = { labelNames: ['kind'] as const, registers: [registry] };
    this.batchSizes = new Histogram({
      name: 'database_batch_size',
      help: 'Reads that share a statement, or writes that share a transaction and its commit',
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
      ...ofKind,
    });
    this.batchWaits = new Histogram({
      name: 'database_batch_wait_seconds',
      help: 'Time that the first read or write of a batch waited until the batch was sent',
      buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
      ...ofKind,
    });
    batches.subscribe(this.observeBatch);
    measurePools(registry, dataSource);
    this.errors = new Counter({
      name: 'database_errors_total',
      help: 'Errors of the database engine: corrupt, io, full, unreachable; without failed statements and locks',
      labelNames: ['kind'],
      registers: [registry],
    });
    // Each counter starts at 0, so that the first error is an increase.
    for (const kind of ENGINE_ERRORS) this.errors.inc({ kind }, 0);
    engineErrors.subscribe(this.count);
    if (url.engine !== 'sqlite') return;
    const { path } = url;
    const readFree = async (): Promise<number> => {
      const { bavail, bsize } = await statfs(dirname(path));
      return bavail * bsize;
    };
    const readWal = async (): Promise<number> => (await stat(`${path}-wal`)).size;
    const free = 'Free bytes for this user on the volume of the database';
    // All workers have the same values.
    addGauge(registry, 'database_volume_free_bytes', free, readFree, 'first');
    addGauge(registry, 'database_wal_bytes', 'Size of the write-ahead log', readWal, 'first');
    if (backupFolder !== undefined) addBackupGauges(registry, backupFolder);
  }

  onModuleDestroy(): void {
    engineErrors.unsubscribe(this.count);
    batches.unsubscribe(this.observeBatch);
  }

  private readonly count = (kind: unknown): void => this.errors.inc({ kind: kind as EngineError });

  private readonly observeBatch = (event: unknown): void => {
    const { kind, size, waitMilliseconds } = event as BatchEvent;
    this.batchSizes.observe({ kind }, size);
    this.batchWaits.observe({ kind }, waitMilliseconds / 1000);
  };
}

/** Adds gauges of the connections of each pool. The values of all workers are added up. */
function measurePools(registry: Registry, dataSource: DataSource): void {
  const helps = {
    used: 'Connections to the database that are in use',
    limit: 'Connections to the database that may be in use',
    waiting: 'Requests that wait until a connection to the database is free',
  };
  for (const [property, help] of Object.entries(helps)) {
    new Gauge({
      name: `database_connections_${property}`,
      help,
      labelNames: ['pool'],
      registers: [registry],
      collect() {
        for (const usage of engineOf(dataSource).connections) {
          this.set({ pool: usage.pool }, usage[property as keyof typeof helps]);
        }
      },
    });
  }
}
