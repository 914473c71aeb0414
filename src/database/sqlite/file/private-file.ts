import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  lchownSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Modes of what this service makes: for its own user alone, whatever the umask allows others. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/**
 * Makes an empty file for SQLite, which would make one that all may read. Its `-wal`, `-shm` and `-journal` get the mode of the
 * file (findCreateFileMode of its os_unix.c). One that exists stays as it is; why one can't be made, SQLite says when it opens it.
 */
export function createPrivately(path: string): void {
  // Not opened where it exists: closing any descriptor of a file gives up all locks that this process holds on it
  // (https://sqlite.org/howtocorrupt.html section 2.2).
  if (existsSync(path)) return;
  // Not exclusively: a link that leads nowhere yet is followed, as SQLite would.
  try {
    const descriptor = openSync(path, constants.O_CREAT | constants.O_RDWR, PRIVATE_FILE);
    giveToFolderOwner(descriptor, realpathSync(path));
    closeSync(descriptor);
  } catch {
    return;
  }
}

/** Makes a folder, and those above it that are missing, for the owner of the folder that they are made in. */
export function makePrivateFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  if (first === undefined || !isRoot()) return;
  const { uid, gid } = statSync(dirname(first));
  for (let folder = resolve(path); folder.length >= first.length; folder = dirname(folder))
    lchownSync(folder, uid, gid);
}

/**
 * As root: gives a file that this process has made to the owner of its folder. A command that root runs beside the service, as in
 * its container, would otherwise leave files that the service cannot write.
 * @param file its descriptor, or its path, of which a link is not followed
 */
export function giveToFolderOwner(file: number | string, path: string): void {
  if (!isRoot()) return;
  const { uid, gid } = statSync(dirname(path));
  try {
    if (typeof file === 'number') fchownSync(file, uid, gid);
    else lchownSync(file, uid, gid);
  } catch {
    // Its file system knows no owners.
    return;
  }
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}
