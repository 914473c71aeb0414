import type { SqliteConnection, StatementResult } from '../sqlite-connection.js';
import type { Writer } from '../writing/writer.js';

/** What TypeORM calls a table that it moves out of the way of its successor. */
const SET_ASIDE = /\bALTER\s+TABLE\b.*\bRENAME\s+TO\b.*\btemporary_/is;

const AUTOCOMMIT = { reclaimsSpace: false, autocommit: true };

/**
 * The settings under which a migration can replace a table that others refer to: without them, `DROP TABLE` deletes the
 * referring rows, and `ALTER TABLE ... RENAME` moves their foreign keys on to the table that is about to go
 * (https://sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes").
 */
export class TableRebuilds {
  private off = false;

  constructor(
    private readonly writing: SqliteConnection,
    private readonly writer: Writer,
  ) {}

  /** Whether foreign keys are off. */
  get areAllowed(): boolean {
    return this.off;
  }

  /** Switches foreign keys off. To be called outside a transaction: inside one, SQLite ignores the switch. */
  async allow(): Promise<void> {
    await this.writer.run('PRAGMA foreign_keys = OFF', [], AUTOCOMMIT);
    this.off = true;
  }

  /** Enforces foreign keys again. To be called outside a transaction. */
  async disallow(): Promise<void> {
    if (!this.off) return;
    await this.writer.run('PRAGMA foreign_keys = ON', [], AUTOCOMMIT);
    this.off = false;
  }

  /** Whether the statement renames a table whose name its successor is to have. */
  isSettingAside(sql: string): boolean {
    return this.off && SET_ASIDE.test(sql);
  }

  /** Runs a statement that sets a table aside: foreign keys go on naming the table, and so mean its successor. */
  keepReferences(run: () => StatementResult): StatementResult {
    const { database } = this.writing;
    // Only for this statement: a table that a migration renames for good takes the foreign keys of others along.
    database.pragma('legacy_alter_table = ON');
    try {
      return run();
    } finally {
      database.pragma('legacy_alter_table = OFF');
    }
  }

  /** The same outside a transaction. */
  async keepReferencesOutside(sql: string, parameters: readonly unknown[]): Promise<StatementResult> {
    await this.writer.run('PRAGMA legacy_alter_table = ON', [], AUTOCOMMIT);
    try {
      return await this.writer.run(sql, parameters, AUTOCOMMIT);
    } finally {
      await this.writer.run('PRAGMA legacy_alter_table = OFF', [], AUTOCOMMIT);
    }
  }
}
