import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { createPrivately } from '../../database/sqlite/file/private-file.js';
import { progressOf } from '../output/progress.js';

/** Pages to copy before the event loop turns: about 10 MB. */
const STEP = 2500;

/** Copies the current state of a database into a new file, while others may write, and shows the progress. */
export async function copyDatabase(from: string, to: string, interrupt: AbortSignal): Promise<void> {
  createPrivately(to);
  using source = openDatabase(from, { fileMustExist: true, timeout: 5000 });
  // The transaction fixes the state. Without it the copy would start again after every write of others.
  source.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  const progress = progressOf('Copied', 'pages');
  await source.backup(to, {
    progress: ({ totalPages, remainingPages }) => {
      interrupt.throwIfAborted();
      progress(totalPages - remainingPages, totalPages);
      return STEP;
    },
  });
  using copy = openDatabase(to);
  // WAL mode would leave `-wal` and `-shm` beside the copy when it is opened.
  copy.pragma('journal_mode = DELETE');
}
