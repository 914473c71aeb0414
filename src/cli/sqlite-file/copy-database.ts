import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { createPrivately } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';
import { progressOf } from '../output/progress.js';

/** Pages to copy before the event loop turns: about 10 MB. */
const STEP = 2500;

/**
 * Copies the current state of a database into a new file, while others may write, and shows the progress.
 * @throws {Failure} for a file that this user may not write and no process has open
 */
export async function copyDatabase(from: string, to: string, interrupt: AbortSignal): Promise<void> {
  requireRemovableWal(from);
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

/** SQLite makes a WAL to read a database. Without write access it would leave the WAL, which the service cannot use. */
function requireRemovableWal(path: string): void {
  if (existsSync(`${realpathSync(path)}-wal`)) return;
  try {
    accessSync(path, constants.W_OK);
  } catch {
    const remedy = 'copy it as the user of the service, or while the service runs';
    throw new Failure(`this user may not write ${path}, and SQLite would leave files beside it; ${remedy}`);
  }
}
