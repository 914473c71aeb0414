import type { Database } from '../better-sqlite3.js';
import { isFull } from '../sqlite-errors.js';

/**
 * Writes to a database file, through its log to the disk, and changes nothing. A file on a read-only volume, or one that another
 * user owns, opens without complaint, and a lock on it says nothing of its log. A full volume is no obstacle: what is stored can
 * be read and deleted.
 * @throws SqliteError
 */
export function tryWriting(database: Database): void {
  const version = Number(database.pragma('user_version', { simple: true }));
  database.exec('BEGIN IMMEDIATE');
  try {
    // It writes the first page, though it stays the same (https://sqlite.org/pragma.html#pragma_user_version).
    database.pragma(`user_version = ${version}`);
    database.exec('COMMIT');
  } catch (error) {
    if (!isFull(error)) throw error;
  } finally {
    if (database.inTransaction) database.exec('ROLLBACK');
  }
}
