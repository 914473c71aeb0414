import type { DataSource } from 'typeorm';
import type { Sql } from './sql.js';

/**
 * Sees to it that ids made from now on are beyond one that was stored with its id. SQLite does so by itself: AUTOINCREMENT
 * notes the largest id it has seen. PostgreSQL's sequences know only what they have given; a sequence does not roll back, but
 * one that is ahead does no harm. The caller holds the lock of the resource's `storage` row, so that no new id is made meanwhile.
 */
export async function keepIdsAhead(
  { options }: DataSource,
  transaction: Sql,
  table: string,
  id: number,
): Promise<void> {
  if (options.type !== 'postgres') return;
  await transaction.sql`
    SELECT setval(sequence::regclass, ${id}) FROM pg_get_serial_sequence(${table}, 'id') AS sequence
    WHERE coalesce(pg_sequence_last_value(sequence::regclass), 0) < ${id}`;
}
