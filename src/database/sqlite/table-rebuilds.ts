import type { OpenTransaction, StatementResult } from './sqlite-connection.js';
import type { Writer } from './writing/writer.js';

/** TypeORM's rename of the old table, before the rebuilt one gets its name. */
const SET_ASIDE = /\bALTER\s+TABLE\b.*\bRENAME\s+TO\b.*\btemporary_/is;

const AUTOCOMMIT = { reclaimsSpace: false, autocommit: true };

/**
 * Settings for a migration that replaces a table to which other tables refer. Without them, `DROP TABLE` deletes the
 * referring rows, and `ALTER TABLE ... RENAME` points their foreign keys to the old table
 * (https://sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes").
 */
export class TableRebuilds {
  private areForeignKeysOff = false;

  constructor(private readonly writer: Writer) {}

  /** Switches foreign keys off. Call it outside a transaction, because SQLite ignores the pragma inside. */
  async allow(): Promise<void> {
    await this.writer.run('PRAGMA foreign_keys = OFF', [], AUTOCOMMIT);
    this.areForeignKeysOff = true;
  }

  /** Enforces foreign keys again. Call it outside a transaction. */
  async disallow(): Promise<void> {
    if (!this.areForeignKeysOff) return;
    await this.writer.run('PRAGMA foreign_keys = ON', [], AUTOCOMMIT);
    this.areForeignKeysOff = false;
  }

  /** Tells whether the statement renames the old table, so that the rebuilt one can get its name. */
  isSettingAside(sql: string): boolean {
    return this.areForeignKeysOff && SET_ASIDE.test(sql);
  }

  /**
   * Runs the rename of the old table. Foreign keys of other tables keep the old name, and so refer to the rebuilt table
   * when that gets the name.
   */
  setAside(transaction: OpenTransaction, sql: string, parameters: readonly unknown[]): StatementResult {
    const { database } = transaction;
    // Only for this statement: after a permanent rename, foreign keys must name the new table.
    database.pragma('legacy_alter_table = ON');
    try {
      return transaction.run(sql, parameters);
    } finally {
      database.pragma('legacy_alter_table = OFF');
    }
  }
}
