import type { Sql } from '../sql.js';

/** The largest id that AUTOINCREMENT has given or seen for a table; 0 if there is none. */
export const lastGivenId = (table: string): string =>
  `coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${table}'), 0)`;

/** SQLite advances the sequence itself when a record is stored with its id (https://sqlite.org/autoinc.html). */
export async function advanceIdSequence(transaction: Sql, table: string, id: number): Promise<void> {
  const [{ last }] = await transaction.query<[{ last: number }]>(`SELECT ${lastGivenId(table)} AS last`, []);
  if (last >= id) return;
  // `sqlite_sequence` has no key, and no row before the first record.
  await transaction.sql`DELETE FROM sqlite_sequence WHERE name = ${table}`;
  await transaction.sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${id})`;
}
