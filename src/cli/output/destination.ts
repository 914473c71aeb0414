import { createWriteStream, fstatSync } from 'node:fs';
import { chmod, lchown, lstat, open, realpath, rename, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Config } from '../../config/config.js';
import { giveToFolderOwner } from '../../database/sqlite/file/private-file.js';
import { UsageError } from '../command-errors.js';
import { BESIDE, isSameFile } from '../sqlite-file/database-path.js';

/**
 * The file that a command writes, with links resolved; it may not exist yet. `undefined` is stdout.
 * @throws {UsageError} for the database or one of its files, and for a folder, FIFO, socket or device
 */
export async function outputFile({ database: { url } }: Config, output: string): Promise<string | undefined> {
  if (output === '-' || output === '/dev/stdout') return undefined;
  const path = await resolveLinks(output);
  const database = url.engine === 'sqlite' ? [await resolveLinks(url.path)] : [];
  for (const file of database.flatMap((each) => [each, ...BESIDE.map((suffix) => each + suffix)])) {
    // SQLite deletes or overwrites files with these names, also those that it has not made.
    if (path !== file && !(await isSameFile(path, file))) continue;
    throw new UsageError(`${output} ${database.includes(file) ? 'is the database itself' : 'belongs to the database'}`);
  }
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.isFile()) return path;
  const kind = found.isDirectory() ? 'folder' : 'FIFO, socket or device';
  throw new UsageError(`${output} is a ${kind}; name a file, or "-" for stdout`);
}

/** Resolves all symbolic links of a path. It throws a `UsageError` for a link to a missing file. */
export async function resolveLinks(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined);
  const folder = await realpath(dirname(path)).catch(() => dirname(path));
  if (!found?.isSymbolicLink()) return join(folder, basename(path));
  return realpath(path).catch(() => {
    throw new UsageError(`${path} is a link to a missing file; name the file itself`);
  });
}

/**
 * A stream to stdout, whose errors the caller handles. `process.stdout` writes to a pipe synchronously, so that a stalled
 * reader would block Ctrl+C, and its errors end the process.
 */
export function standardOutput(): Writable {
  const kind = fstatSync(1);
  if (kind.isFIFO() || kind.isSocket()) return new Socket({ fd: 1, readable: false, writable: true });
  return kind.isFile() ? createWriteStream('', { fd: 1, autoClose: false }) : process.stdout;
}

/** Replaces a file atomically by a draft in its folder, also across a power failure. Owner and permissions stay. */
export async function replaceFile(draft: string, path: string): Promise<void> {
  await inheritAccess(draft, path);
  await sync(draft);
  await rename(draft, path);
  await syncName(path);
}

/** Calls fsync on the folder of a new name. The file is in place, so a failure is a warning. */
export async function syncName(path: string): Promise<void> {
  await sync(dirname(path)).catch(({ message }: Error) => {
    console.error(`Warning: after a power cut ${path} may be as it was before (${message}). Check the disk.`);
  });
}

/** Copies owner and mode of the file to the draft. Without permission, only the current user may read the draft. */
async function inheritAccess(draft: string, path: string): Promise<void> {
  const [old, made] = await Promise.all([stat(path).catch(() => undefined), stat(draft)]);
  if (old === undefined) return giveToFolderOwner(draft, path);
  if (old.uid !== made.uid || old.gid !== made.gid) {
    try {
      await lchown(draft, old.uid, old.gid);
    } catch {
      return;
    }
  }
  await chmod(draft, old.mode & 0o777);
}

export async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
