import type { SqliteConnection } from '../sqlite-connection.js';

/**
 * Tells whether transactions may share a commit. They may not if the schema lets one undo or fail the others: by `ON
 * CONFLICT ROLLBACK` or `RAISE(ROLLBACK)`, which ignore savepoints, or by a foreign key that is `DEFERRABLE INITIALLY
 * DEFERRED`, which is checked at the commit.
 */
export class GroupCommitCheck {
  private version?: number;
  private safe = false;
  private readonly readVersion;

  constructor(private readonly connection: SqliteConnection) {
    this.readVersion = connection.database.prepare('PRAGMA schema_version').pluck();
  }

  isSafe(): boolean {
    const version = this.readVersion.get() as number;
    if (version !== this.version) {
      this.version = version;
      this.safe = this.connection.run(REACHING_BEYOND).rows!.length === 0;
    }
    return this.safe;
  }
}

const REACHING_BEYOND = `
  SELECT 1 FROM sqlite_schema WHERE sql LIKE '%ROLLBACK%' OR sql LIKE '%INITIALLY%DEFERRED%' LIMIT 1`;
