import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { isBusy, sqliteCode } from '../../database/sqlite/sqlite-errors.js';

/** A lock on a database file that no other process has open. */
export interface ExclusiveLock {
  /** Releases the lock. */
  release(): void;
}

/**
 * Locks a database file against all other processes and folds its WAL into it, so that it can be replaced.
 * @returns `undefined` when another process has it open
 * @throws SqliteError
 */
export function acquireExclusiveLock(path: string): ExclusiveLock | undefined {
  const database = openDatabase(path, { fileMustExist: true, timeout: 0 });
  try {
    // Every process with a WAL database open holds a lock, and leaving WAL mode requires all locks.
    const mode = database.pragma('journal_mode = DELETE', { simple: true });
    if (mode !== 'delete') throw Object.assign(new Error('in use'), { code: 'SQLITE_BUSY' });
    database.exec('BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    // No service can use such a file, so no lock is needed.
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(sqliteCode(error))) return { release: () => {} };
    throw error;
  }
}

/** Gives a database a new epoch, so that older ETags never match again. */
export function renewEpoch(path: string, epoch: string): void {
  const database = openDatabase(path, { fileMustExist: true });
  try {
    database.prepare('UPDATE storage SET epoch = ?').run(epoch);
  } finally {
    database.close();
  }
}
