import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
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

/**
 * Sees to it that ids made from now on are beyond one that another storage has given, whether a record with it is stored here or
 * not. The caller holds the lock of the resource's `storage` row.
 */
export async function advanceIdSequence(
  dataSource: DataSource,
  transaction: Sql,
  table: string,
  id: number,
): Promise<void> {
  if (dataSource.options.type === 'postgres') return keepIdsAhead(dataSource, transaction, table, id);
  const { dialect } = engineOf(dataSource);
  const [{ last }] = await transaction.query<[{ last: number }]>(`SELECT ${dialect.lastGivenId(table)} AS last`, []);
  if (last >= id) return;
  // The table has neither a key nor a row before the first record (https://sqlite.org/autoinc.html).
  await transaction.sql`DELETE FROM sqlite_sequence WHERE name = ${table}`;
  await transaction.sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${id})`;
}
