import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
import type { Sql } from './sql.js';

/**
 * Advances the id sequence of a table beyond `id`, if it is not there yet. The caller holds the lock of the resource's
 * `storage` row, so no new id is assigned meanwhile.
 */
export function advanceIdSequence(dataSource: DataSource, transaction: Sql, table: string, id: number): Promise<void> {
  return engineOf(dataSource).advanceIdSequence(transaction, table, id);
}
