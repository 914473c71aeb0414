import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
import { repeatRead } from './repeat-read.js';
import type { Sql } from './sql.js';

/** One committed state of the database, unchanged by whatever is written meanwhile, until it is closed. */
export interface Snapshot extends Sql {
  /** Lets go of the state; a second call does nothing. */
  close(): void;
}

/** @throws {DatabaseUnavailableError} when too many are open */
export function openSnapshot(dataSource: DataSource): Promise<Snapshot> {
  return repeatRead(() => engineOf(dataSource).openSnapshot());
}
