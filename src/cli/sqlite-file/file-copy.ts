import { existsSync } from 'node:fs';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { createPrivately } from '../../database/sqlite/file/private-file.js';

/** Pages copied before the event loop has its turn: about 10 MB. */
const STEP = 2500;

/**
 * Copies a database, as it is at this moment, into a file of its own, while others write it.
 * @param readonly for a file that must stay as it is; a connection that may write leaves no `-wal` and `-shm` when it is the last
 * @param progress called with how many pages of how many are done; what it throws ends the copy
 * @throws SqliteError
 */
export async function copyDatabase(
  from: string,
  to: string,
  { readonly, progress }: { readonly: boolean; progress: (done: number, total: number) => void },
): Promise<void> {
  createPrivately(to);
  const source = openDatabase(from, { readonly, fileMustExist: true, timeout: 5000 });
  try {
    // Within a transaction, the copy is of its state. Without one it would start again with every write of others.
    source.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    await source.backup(to, {
      progress: ({ totalPages, remainingPages }) => {
        progress(totalPages - remainingPages, totalPages);
        return STEP;
      },
    });
  } finally {
    source.close();
  }
  settle(to);
}

/** The copy of a WAL database is one, too; opened once as it is, it would leave `-wal` and `-shm` beside it. */
function settle(file: string): void {
  const copy = openDatabase(file);
  try {
    copy.pragma('journal_mode = DELETE');
  } finally {
    copy.close();
  }
}

/**
 * Leaves beside a file no `-wal` and `-shm` that were not there before: where it is in WAL mode, a connection that may only read
 * makes them and leaves them.
 */
export async function readingOnly<T>(file: string, work: () => Promise<T>): Promise<T> {
  const isAlone = !existsSync(`${file}-wal`);
  try {
    return await work();
  } finally {
    if (isAlone && existsSync(`${file}-wal`)) removeWal(file);
  }
}

/** Not by their names: someone else may have the file open by now. The last connection that may write removes them. */
function removeWal(file: string): void {
  try {
    const database = openDatabase(file, { fileMustExist: true });
    try {
      database.prepare('SELECT count(*) FROM sqlite_schema').get();
    } finally {
      database.close();
    }
  } catch {
    // This user may only read the file.
    return;
  }
}
