import * as fs from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Modes of the files and folders that this service makes: only its user has access, whatever the umask. */
export const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

/**
 * Makes an empty database file with a private mode, which SQLite gives its WAL, too. An existing file is not opened:
 * closing it would release all locks of this process on it (https://sqlite.org/howtocorrupt.html section 2.2).
 */
export function createPrivately(path: string): void {
  if (fs.existsSync(path)) return;
  try {
    // Without O_EXCL, so that a link whose target does not exist is followed, as SQLite does.
    const descriptor = fs.openSync(path, fs.constants.O_CREAT | fs.constants.O_RDWR, PRIVATE_FILE);
    giveToFolderOwner(descriptor, fs.realpathSync(path));
    fs.closeSync(descriptor);
  } catch {
    // SQLite reports the error when it opens the file.
  }
}

/** Makes a folder and its missing parents. They belong to the owner of the first existing folder above. */
export function makePrivateFolder(path: string): void {
  const folder = resolve(path);
  if (fs.existsSync(folder)) return;
  makePrivateFolder(dirname(folder));
  try {
    // With `recursive`, Node would try endlessly where no folder can be made, such as in /proc.
    fs.mkdirSync(folder, { mode: PRIVATE_FOLDER });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!fs.existsSync(folder)) throw error;
  }
  giveToFolderOwner(folder, folder);
}

/** Gives a file of root to the owner of its folder. `file` is a descriptor or a path; links are not followed. */
export function giveToFolderOwner(file: number | string, path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = fs.statSync(dirname(path));
  try {
    if (typeof file === 'number') fs.fchownSync(file, uid, gid);
    else fs.lchownSync(file, uid, gid);
  } catch {
    // The file system has no owners.
  }
}
