import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
import type { Sql } from './sql.js';

/**
 * Advances the sequence of a table's ids, so that new ids are beyond this one: that of a record that was stored with its id, or the
 * last one that another storage has given. Does nothing where the sequence is further already. The caller holds the lock of the
 * resource's `storage` row, so that no new id is made meanwhile.
 */
export function advanceIdSequence(dataSource: DataSource, transaction: Sql, table: string, id: number): Promise<void> {
  return engineOf(dataSource).advanceIdSequence(transaction, table, id);
}
