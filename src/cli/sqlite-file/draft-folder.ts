import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DiskFullError } from '../../database/errors.js';
import { fileProblem } from '../../database/sqlite/file/file-problem.js';
import { giveToFolderOwner } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';

/** Milliseconds after which a folder of drafts counts as that of a killed process. */
const LONGEST_USE = 6 * 3600 * 1000;

/**
 * Makes a folder for drafts, which `await using` removes, and removes those of killed processes: old ones, and those
 * with the host and the process id of this process, such as of a container that was started again.
 * @param prefix the beginning of its path
 */
export async function draftFolder(prefix: string): Promise<{ readonly path: string } & AsyncDisposable> {
  const folder = dirname(prefix);
  const own = `${prefix}${hostname()}-${process.pid}-`;
  // Without the right to read it, a folder may still take new files.
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    // This function did not make other folders whose names begin with the prefix.
    const isDraft = entry.isDirectory() && entry.name.startsWith(basename(prefix)) && /-\d+-\w{6}$/.test(entry.name);
    if (!isDraft) continue;
    const path = join(folder, entry.name);
    // Another process may remove its folder meanwhile.
    const used = (await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (path.startsWith(own) || Date.now() - used > LONGEST_USE) await remove(path);
  }
  const path = await mkdtemp(own).catch((error: unknown) => {
    const problem = existsSync(folder) ? `cannot be written: ${fileProblem(folder, error)}` : 'does not exist';
    throw new Error(`the folder ${folder} ${problem}`, { cause: error });
  });
  giveToFolderOwner(path, path);
  return { path, [Symbol.asyncDispose]: () => remove(path) };
}

/** Runs `work` with the path of a folder for drafts. The message of an error, unless a `Failure`, has the free space. */
export async function withDraftFolder<T>(prefix: string, work: (path: string) => Promise<T>): Promise<T> {
  await using folder = await draftFolder(prefix);
  try {
    return await work(folder.path);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const volume = `the volume of ${dirname(prefix)}`;
    // The database of `DiskFullError` is a draft. SQLite reports a full volume as "disk I/O error", too.
    const reason = error instanceof DiskFullError ? `${volume} is full` : (error as Error).message.replace(/\.$/, '');
    // The drafts occupy their space until the end of this function.
    const { bavail, bsize } = await statfs(folder.path);
    throw new Error(`${reason} (${bavail * bsize} bytes are free on ${volume})`, { cause: error });
  }
}

/** Removes a folder; one of another user may stay. */
const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true }).catch(() => {});
