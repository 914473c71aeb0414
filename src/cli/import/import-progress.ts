import type { Sql } from '../../database/engine.js';
import { Failure } from '../command-errors.js';

/** Progress of an unfinished import, saved with its records: after a crash, none is repeated or skipped. */
export interface UnfinishedImport {
  /** Plural name of the resource; a resource has at most one unfinished import. */
  readonly resource: string;
  /** Number of stored lines. */
  readonly lines: number;
  /** SHA-256 of the stored lines, to recognise the input. */
  readonly digest: string;
  /** `keep`: records keep the ids of the input; `assign` and `none`: they get new ids; `none`: no line has an id. */
  readonly ids: 'keep' | 'assign' | 'none';
  /** Start time in ISO 8601. */
  readonly started: string;
}

export async function findUnfinishedImport(source: Sql, resource: string): Promise<UnfinishedImport | undefined> {
  // The number is read as text: a restored file may have an integer of 64 bits, which would be an error.
  const [found] = await source.sql<UnfinishedImport[]>`
    SELECT resource, CAST(lines AS text) AS lines, digest, ids, started FROM imports WHERE resource = ${resource}`;
  return found === undefined ? undefined : { ...found, lines: Number(found.lines) };
}

/**
 * Saves the progress in the transaction that stores the lines up to `to.lines`.
 * @param from the progress saved before; absent at the beginning
 * @throws {Failure} when another process has saved its progress since, so this import must stop
 */
export async function saveProgress(
  transaction: Sql,
  from: UnfinishedImport | undefined,
  to: UnfinishedImport,
): Promise<void> {
  const { resource, lines, digest, ids, started } = to;
  const saved: unknown[] =
    from === undefined
      ? // After a failed INSERT, PostgreSQL would reject all further statements of the transaction.
        await transaction.sql`
          INSERT INTO imports (resource, lines, digest, ids, started)
          VALUES (${resource}, ${lines}, ${digest}, ${ids}, ${started})
          ON CONFLICT DO NOTHING RETURNING resource`
      : await transaction.sql`
          UPDATE imports SET lines = ${lines}, digest = ${digest}
          WHERE resource = ${resource} AND lines = ${from.lines} AND digest = ${from.digest} RETURNING resource`;
  if (saved.length !== 1) throw new Failure(`Another import into "${resource}" is going on`);
}

export async function deleteProgress(transaction: Sql, resource: string): Promise<void> {
  await transaction.sql`DELETE FROM imports WHERE resource = ${resource}`;
}
