import type { Sql } from '../sql.js';

/** The largest id that the sequence of a table has given; 0 if it has given none. */
export const lastGivenId = (table: string): string =>
  `coalesce(pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass), 0)`;

/** A sequence does not roll back, but skipped ids do no harm. */
export async function advanceIdSequence(transaction: Sql, table: string, id: number): Promise<void> {
  await transaction.sql`
    SELECT setval(sequence::regclass, ${id}) FROM pg_get_serial_sequence(${table}, 'id') AS sequence
    WHERE coalesce(pg_sequence_last_value(sequence::regclass), 0) < ${id}`;
}
