import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { isBusy, sqliteCode } from '../../database/sqlite/sqlite-errors.js';

/**
 * Locks a database file against all other processes and folds its WAL into it, so that it can be replaced.
 * @returns the lock, which `using` releases; `undefined` when another process has the file open
 * @throws SqliteError
 */
export function acquireExclusiveLock(path: string): Disposable | undefined {
  const database = openDatabase(path, { fileMustExist: true, timeout: 0 });
  try {
    // Every process with a WAL database open holds a lock, and leaving WAL mode requires all locks.
    const mode = database.pragma('journal_mode = DELETE', { simple: true });
    if (mode !== 'delete') throw Object.assign(new Error('in use'), { code: 'SQLITE_BUSY' });
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    // No service can use such a file, so no lock is needed.
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(sqliteCode(error))) return { [Symbol.dispose]: () => {} };
    throw error;
  }
}
