import type { Sql } from '../../database/sql.js';
import type { UnfinishedImport } from './import.entity.js';

export type { UnfinishedImport };

/** Someone else has taken the import further, or forgotten it: this one must store nothing more. */
export class ImportOvertakenError extends Error {
  constructor(resource: string) {
    super(`Another import into "${resource}" is going on`);
    this.name = 'ImportOvertakenError';
  }
}

/** The note of how far the unfinished import into one resource has got. */
export class ImportProgress {
  constructor(readonly resource: string) {}

  async find(source: Sql): Promise<UnfinishedImport | undefined> {
    const [found] = await source.sql<UnfinishedImport[]>`
      SELECT resource, lines, digest, ids, started FROM imports WHERE resource = ${this.resource}`;
    return found && { ...found, lines: Number(found.lines) };
  }

  /**
   * Notes, in the transaction that stores the records of the lines up to `to.lines`, that they are stored.
   * @param from how far it had got before; absent for its beginning
   * @throws {ImportOvertakenError} when that is no longer so
   */
  async advance(transaction: Sql, from: UnfinishedImport | undefined, to: UnfinishedImport): Promise<void> {
    if (from === undefined) {
      // DO NOTHING rather than a failed INSERT: after that PostgreSQL would take no further statement.
      const rows = await transaction.sql<unknown[]>`
        INSERT INTO imports (resource, lines, digest, ids, started)
        VALUES (${this.resource}, ${to.lines}, ${to.digest}, ${to.ids}, ${to.started})
        ON CONFLICT DO NOTHING RETURNING resource`;
      return this.requireOne(rows);
    }
    const rows = await transaction.sql<unknown[]>`
      UPDATE imports SET lines = ${to.lines}, digest = ${to.digest}
      WHERE resource = ${this.resource} AND lines = ${from.lines} AND digest = ${from.digest} RETURNING resource`;
    this.requireOne(rows);
  }

  /** There is nothing to go on with: the import has come to its end, or shall not. */
  async forget(transaction: Sql): Promise<void> {
    await transaction.sql`DELETE FROM imports WHERE resource = ${this.resource}`;
  }

  private requireOne(rows: unknown[]): void {
    if (rows.length !== 1) throw new ImportOvertakenError(this.resource);
  }
}
