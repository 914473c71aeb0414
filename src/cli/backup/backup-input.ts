import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';
import { destinationOf } from '../output/destination.js';

/** @throws {Failure} with the user who cannot read the file, who differs from the caller in a container */
export async function requireReadable(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Failure(`There is no file ${file}.`, error);
    if (code !== 'EACCES') throw new Failure(`${file} cannot be read: ${message}.`, error);
    throw new Failure(
      `${file} cannot be read by the user ${process.geteuid?.()}, as whom this command runs: give that user the right to ` +
        'read it and to enter its folder, or copy it to where that user may read.',
      error,
    );
  }
}

/**
 * SQLite reads only files. A backup from a pipe, as in a container, is first written into the file `received`.
 * @returns the file to read
 */
export async function seekable(file: string, received: string, signal: AbortSignal): Promise<string> {
  const from = await destinationOf(file);
  if (from.kind === 'file') return file;
  // stdin may be a socket, which cannot be reopened by its name.
  const bytes = from.kind === 'descriptor' && from.fd === 0 ? process.stdin : createReadStream(file);
  await writePrivately(bytes, received, signal);
  return received;
}

/** Writes a new file that only the current user can read. */
export async function writePrivately(bytes: NodeJS.ReadableStream, to: string, signal: AbortSignal): Promise<void> {
  await pipeline(bytes, createWriteStream(to, { flags: 'wx', mode: PRIVATE_FILE }), { signal });
}
