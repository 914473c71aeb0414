import type { Channel, ChannelListener } from 'node:diagnostics_channel';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Counter, Histogram, type Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import {
  type BatchEvent,
  batches,
  ENGINE_ERRORS,
  type EngineError,
  engineErrors,
  type StatementEvent,
  statements,
} from '../database/database-events.js';
import { engineOf } from '../database/engine.js';
import { addGauge } from './add-gauge.js';
import { newestBackups } from './backup-files.js';
import { sharedReading } from './database-timeout.js';
import { Metrics } from './metrics.js';

/** Metrics of statements, batches, connections and errors of the engine, and of SQLite's files and its last backup. */
@Injectable()
export class DatabaseMetrics implements OnModuleDestroy {
  private readonly subscriptions = new Map<Channel, ChannelListener>();

  constructor({ registry }: Metrics, { database }: Config, dataSource: DataSource) {
    this.measureEvents(registry);
    measurePools(registry, dataSource);
    const { url, backupFolder } = database;
    if (url.engine === 'sqlite') measureFiles(registry, url.path, backupFolder);
  }

  onModuleDestroy(): void {
    for (const [channel, listener] of this.subscriptions) channel.unsubscribe(listener);
  }

  private measureEvents(registry: Registry): void {
    const ofKind = { labelNames: ['kind'] as const, registers: [registry] };
    const statementTimes = new Histogram({
      name: 'database_statement_duration_seconds',
      help: 'Time of a statement in the database engine',
      buckets: [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
      ...ofKind,
    });
    const batchSizes = new Histogram({
      name: 'database_batch_size',
      help: 'Reads that share a statement, or writes that share a transaction and its commit',
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
      ...ofKind,
    });
    const batchWaits = new Histogram({
      name: 'database_batch_wait_seconds',
      help: 'Time that the first read or write of a batch waited until the batch was sent',
      buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
      ...ofKind,
    });
    const errors = new Counter({
      name: 'database_errors_total',
      help: 'Errors of the database engine: corrupt, io, full, unreachable; without failed statements and locks',
      ...ofKind,
    });
    // Each counter starts at 0, so that the first error is an increase.
    for (const kind of ENGINE_ERRORS) errors.inc({ kind }, 0);
    this.subscribe<StatementEvent>(statements, ({ kind, milliseconds }) => {
      statementTimes.observe({ kind }, milliseconds / 1000);
    });
    this.subscribe<BatchEvent>(batches, ({ kind, size, waitMilliseconds }) => {
      batchSizes.observe({ kind }, size);
      batchWaits.observe({ kind }, waitMilliseconds / 1000);
    });
    this.subscribe<EngineError>(engineErrors, (kind) => errors.inc({ kind }));
  }

  private subscribe<Event>(channel: Channel, listener: (event: Event) => void): void {
    channel.subscribe(listener as ChannelListener);
    this.subscriptions.set(channel, listener as ChannelListener);
  }
}

function measurePools(registry: Registry, dataSource: DataSource): void {
  const helps = {
    used: 'Connections to the database that are in use',
    limit: 'Maximum number of connections to the database',
    waiting: 'Requests that wait until a connection to the database is free',
  };
  for (const [property, help] of Object.entries(helps)) {
    const read = () =>
      engineOf(dataSource).connections.map(
        (usage) => [{ pool: usage.pool }, usage[property as keyof typeof helps]] as const,
      );
    addGauge(registry, `database_connections_${property}`, help, read, { labelNames: ['pool'] });
  }
}

/** Measures the volume, the WAL and the last backup (0 if there is none). All workers have the same values. */
function measureFiles(registry: Registry, path: string, backupFolder: string | undefined): void {
  const gauge = (name: string, help: string, read: () => Promise<number>) =>
    addGauge(registry, name, help, read, { aggregator: 'first' });
  gauge('database_volume_free_bytes', 'Free bytes for this user on the volume of the database', async () => {
    const { bavail, bsize } = await statfs(dirname(path));
    return bavail * bsize;
  });
  gauge('database_wal_bytes', 'Size of the write-ahead log', async () => (await stat(`${path}-wal`)).size);
  if (backupFolder === undefined) return;
  const last = sharedReading(() => newestBackups(backupFolder, 1).catch(() => []), []);
  gauge(
    'database_last_backup_timestamp_seconds',
    'When the last backup in BACKUP_DIR began; 0 if there is none',
    async () => ((await last())[0]?.time ?? 0) / 1000,
  );
  gauge(
    'database_last_backup_bytes',
    'Size of the last backup in BACKUP_DIR',
    async () => (await last())[0]?.size ?? 0,
  );
}
