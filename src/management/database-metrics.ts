import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Config } from '../config/config.js';
import { ENGINE_ERRORS, type EngineError, engineErrors } from '../database/database-events.js';
import { addGauge } from './add-gauge.js';
import { addBackupGauges } from './backup-gauges.js';
import { Metrics } from './metrics.js';

/** Metrics of the database: errors of the engine and, with SQLite, the size of its files and its last backup. */
@Injectable()
export class DatabaseMetrics implements OnModuleDestroy {
  private readonly errors: Counter<'kind'>;

  constructor({ registry }: Metrics, { database: { url, backupFolder } }: Config) {
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
  }

  private readonly count = (kind: unknown): void => this.errors.inc({ kind: kind as EngineError });
}
