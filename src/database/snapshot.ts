import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
import { repeatRead } from './repeat-read.js';
import type { Snapshot } from './sql.js';

export type { Snapshot };

/** @throws {DatabaseUnavailableError} when too many snapshots are open */
export function openSnapshot(dataSource: DataSource): Promise<Snapshot> {
  return repeatRead(() => engineOf(dataSource).openSnapshot());
}
