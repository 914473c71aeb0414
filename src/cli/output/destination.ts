import { createWriteStream, fstatSync } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Config } from '../../config/config.js';
import { UsageError } from '../command-errors.js';
import { DATABASE_FILE_SUFFIXES, isSameFile } from '../sqlite-file/database-path.js';

/**
 * The file that a command writes, with links resolved; it may not exist yet. `undefined` is stdout.
 * @throws {UsageError} for the database or one of its files, and for a folder, FIFO, socket or device
 */
export async function outputFile({ database: { url } }: Config, output: string): Promise<string | undefined> {
  if (output === '-' || output === '/dev/stdout') return undefined;
  const path = await resolveLinks(output);
  const database = url.engine === 'sqlite' ? [await resolveLinks(url.path)] : [];
  for (const file of database.flatMap((each) => [each, ...DATABASE_FILE_SUFFIXES.map((suffix) => each + suffix)])) {
    // SQLite deletes or overwrites files with these names, also those that it has not made.
    if (path !== file && !(await isSameFile(path, file))) continue;
    throw new UsageError(`${output} ${database.includes(file) ? 'is the database itself' : 'belongs to the database'}`);
  }
  const found = await stat(path).catch(() => undefined);
  const isFolder = output.endsWith('/') || found?.isDirectory();
  if (!isFolder && (found === undefined || found.isFile())) return path;
  const kind = isFolder ? 'folder' : 'FIFO, socket or device';
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
 * A stream to stdout, whose errors the caller handles. `process.stdout` writes to a pipe synchronously, so that a
 * stalled reader would block Ctrl+C, and its errors end the process.
 */
export function standardOutput(): Writable {
  const kind = fstatSync(1);
  if (kind.isFIFO() || kind.isSocket()) return new Socket({ fd: 1, readable: false, writable: true });
  return kind.isFile() ? createWriteStream('', { fd: 1, autoClose: false }) : process.stdout;
}
