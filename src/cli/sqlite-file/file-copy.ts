import { existsSync } from 'node:fs';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { createPrivately } from '../../database/sqlite/file/private-file.js';

/** Pages to copy before the event loop turns: about 10 MB. */
const STEP = 2500;

/**
 * Copies the current state of a database into a new file, while others may write.
 * @param readonly for a file that must not change: the last writing connection removes `-wal` and `-shm`
 * @param progress receives the numbers of copied pages and of all pages; an exception ends the copy
 * @throws SqliteError
 */
export async function copyDatabase(
  from: string,
  to: string,
  { readonly, progress }: { readonly: boolean; progress: (done: number, total: number) => void },
): Promise<void> {
  createPrivately(to);
  using source = openDatabase(from, { readonly, fileMustExist: true, timeout: 5000 });
  // The transaction fixes the state. Without it the copy would start again after every write of others.
  source.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  await source.backup(to, {
    progress: ({ totalPages, remainingPages }) => {
      progress(totalPages - remainingPages, totalPages);
      return STEP;
    },
  });
  using copy = openDatabase(to);
  // WAL mode would leave `-wal` and `-shm` beside the copy when it is opened.
  copy.pragma('journal_mode = DELETE');
}

/** Removes `-wal` and `-shm` that a read-only connection makes beside a file in WAL mode and does not remove. */
export async function readingOnly<T>(file: string, work: () => Promise<T>): Promise<T> {
  const isAlone = !existsSync(`${file}-wal`);
  try {
    return await work();
  } finally {
    if (isAlone && existsSync(`${file}-wal`)) removeWal(file);
  }
}

/**
 * The last writing connection removes the files. Removing them by name would be wrong if another process has the file
 * open.
 */
function removeWal(file: string): void {
  try {
    using database = openDatabase(file, { fileMustExist: true });
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch {
    // This user may only read the file.
    return;
  }
}
