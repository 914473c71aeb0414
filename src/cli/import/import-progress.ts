import type { Sql } from '../../database/engine.js';
import type { UnfinishedImport } from './import.entity.js';

export type { UnfinishedImport };

/** Another process has continued or cancelled this import: this one must stop. */
export class ImportOvertakenError extends Error {
  constructor(resource: string) {
    super(`Another import into "${resource}" is going on`);
    this.name = 'ImportOvertakenError';
  }
}

/** Reads and writes the progress of the unfinished import into one resource. */
export class ImportProgress {
  constructor(readonly resource: string) {}

  async find(source: Sql): Promise<UnfinishedImport | undefined> {
    const [found] = await source.sql<UnfinishedImport[]>`
      SELECT resource, lines, digest, ids, started FROM imports WHERE resource = ${this.resource}`;
    return found && { ...found, lines: Number(found.lines) };
  }

  /**
   * Saves the progress in the transaction that stores the lines up to `to.lines`.
   * @param from the progress saved before; absent at the beginning
   * @throws {ImportOvertakenError} when another process has saved its own since
   */
  async advance(transaction: Sql, from: UnfinishedImport | undefined, to: UnfinishedImport): Promise<void> {
    if (from === undefined) {
      // After a failed INSERT, PostgreSQL would reject all further statements of the transaction.
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

  /** Deletes the progress: the import has finished or was cancelled. */
  async forget(transaction: Sql): Promise<void> {
    await transaction.sql`DELETE FROM imports WHERE resource = ${this.resource}`;
  }

  private requireOne(rows: unknown[]): void {
    if (rows.length !== 1) throw new ImportOvertakenError(this.resource);
  }
}
