import type { Database } from '../better-sqlite3.js';
import { isFull } from '../sqlite-errors.js';

/**
 * Tests whether a database file can be written, without changing it. A file on a read-only volume, or of another user,
 * opens without an error, and a lock on it does not test its WAL. A full volume is accepted, because records can be
 * read and deleted.
 * @throws SqliteError
 */
export function tryWriting(database: Database): void {
  const version = Number(database.pragma('user_version', { simple: true }));
  database.exec('BEGIN IMMEDIATE');
  try {
    // This writes the first page, even if the value stays the same
    // (https://sqlite.org/pragma.html#pragma_user_version).
    database.pragma(`user_version = ${version}`);
    database.exec('COMMIT');
  } catch (error) {
    if (!isFull(error)) throw error;
  } finally {
    if (database.inTransaction) database.exec('ROLLBACK');
  }
}
