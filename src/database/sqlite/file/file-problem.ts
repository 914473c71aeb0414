import { lstatSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, resolve } from 'node:path';

/** Explains a failed system call on a file or folder: the reason and the remedy. */
export function fileProblem(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (isQuotaUsedUp(error)) return `the disk quota is used up (${message}); raise it, or free space`;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `permission denied (${[message, ownersOf([dirname(path), path])].filter(Boolean).join('; ')}); give the user of the service the right to read and write it`;
    case 'EROFS':
      return `it is on a read-only volume (${message}); mount it writable, or name another place`;
    case 'ENOSPC':
      return `its volume is full (${message}); free space on it, or inodes (df -i)`;
    default:
      return message;
  }
}

/** Tells whether a system call failed because of a disk quota. Node has no name for EDQUOT: the code is UNKNOWN. */
export function isQuotaUsedUp(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.errno === -constants.errno.EDQUOT;
}

/** Writes 64 KiB into a new file beside `path`, and removes it. @returns the error if that fails */
export function probeVolume(path: string): unknown {
  const probe = `${path}-probe-${process.pid}`;
  try {
    writeFileSync(probe, Buffer.alloc(64 * 1024), { mode: 0o600 });
    return undefined;
  } catch (error) {
    return error;
  } finally {
    rmSync(probe, { force: true });
  }
}

/** The problem of a read-only or full volume, which SQLite reports like missing rights; `undefined` without one. */
export function volumeProblem(path: string): string | undefined {
  // `access` permits writes on a file system that the kernel has made read-only after an error.
  const error = probeVolume(path) as NodeJS.ErrnoException | undefined;
  const isOfVolume = /^(EROFS|ENOSPC)$/.test(error?.code ?? '') || isQuotaUsedUp(error);
  return isOfVolume ? fileProblem(path, error) : undefined;
}

/** The owners and modes of the existing files, and the user of this process. */
export function ownersOf(paths: readonly string[]): string {
  const known = paths.flatMap((path) => {
    try {
      const { uid, gid, mode } = statSync(path);
      return [`${path} is of ${uid}:${gid} with mode ${(mode & 0o777).toString(8)}`];
    } catch {
      return [];
    }
  });
  if (known.length === 0 || process.getuid === undefined) return '';
  return `${known.join(', ')}; this process runs as ${process.getuid()}:${process.getgid?.()}`;
}

/** The problem of a missing or empty database file whose WAL has content, which SQLite would delete; or `undefined`. */
export function lostFileProblem(path: string): string | undefined {
  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeOf(path) !== 0) return undefined;
  const file = linkTarget(path);
  if (sizeOf(`${file}-wal`) === 0) return undefined;
  return `is missing or empty, but ${file}-wal has its last writes; put the file back, or move ${file}-wal away for a new database`;
}

/** The path behind symbolic links, even if the last one names a missing file: SQLite makes the WAL there. */
function linkTarget(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink ? linkTarget(resolve(dirname(path), readlinkSync(path))) : path;
}
