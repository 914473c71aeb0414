import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { createPrivately, giveToFolderOwner, PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Progress } from '../output/progress.js';

/** Milliseconds after which a folder of drafts counts as that of a killed process. */
const LONGEST_USE = 6 * 3600 * 1000;

/**
 * Makes a folder for drafts, which `await using` removes, and removes those of killed processes: old ones, and those with
 * the host and the process id of this process, such as of a container that was started again.
 * @param prefix the beginning of its path
 */
export async function draftFolder(prefix: string): Promise<{ readonly path: string } & AsyncDisposable> {
  const own = `${prefix}${hostname()}-${process.pid}-`;
  for (const entry of await readdir(dirname(prefix), { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(basename(prefix))) continue;
    const path = join(dirname(prefix), entry.name);
    // Another process may remove its folder meanwhile.
    const used = (await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    // A folder of another user may stay.
    if (path.startsWith(own) || Date.now() - used > LONGEST_USE) await remove(path).catch(() => {});
  }
  const path = await mkdtemp(own);
  giveToFolderOwner(path, path);
  return { path, [Symbol.asyncDispose]: () => remove(path) };
}

const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });

/** Pages to copy before the event loop turns: about 10 MB. */
const STEP = 2500;

/**
 * Copies the current state of a database into a new file, while others may write, and shows the progress.
 * @throws SqliteError
 */
export async function copyDatabase(from: string, to: string, interrupt: AbortSignal): Promise<void> {
  createPrivately(to);
  using source = openDatabase(from, { fileMustExist: true, timeout: 5000 });
  // The transaction fixes the state. Without it the copy would start again after every write of others.
  source.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  let bar: Progress | undefined;
  await source.backup(to, {
    progress: ({ totalPages, remainingPages }) => {
      interrupt.throwIfAborted();
      bar ??= new Progress('Copied', 'pages', totalPages);
      bar.update(totalPages - remainingPages);
      return STEP;
    },
  });
  using copy = openDatabase(to);
  // WAL mode would leave `-wal` and `-shm` beside the copy when it is opened.
  copy.pragma('journal_mode = DELETE');
}

/**
 * Packs a file with gzip and removes it. The packed file is read again as a check, because the disk may be bad.
 * @returns the path of the packed file
 */
export async function pack(file: string, signal: AbortSignal): Promise<string> {
  const packed = `${file}.gz`;
  const target = createWriteStream(packed, { flags: 'wx', mode: PRIVATE_FILE });
  await pipeline(createReadStream(file), createGzip(), target, { signal });
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  await pipeline(createReadStream(packed), createGunzip(), nowhere, { signal });
  await rm(file);
  return packed;
}
