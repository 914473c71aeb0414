import { createWriteStream } from 'node:fs';
import { access, constants, open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';
import { firstBytes, GZIP, isRepeatable, joined, openInput } from '../input.js';

/** @throws {Failure} naming the user who cannot read the file, and who is not the caller in a container */
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
 * Writes a backup from a pipe or a gzip file into the plain file `received`, because SQLite reads only plain files.
 * @returns the file to read
 * @throws {Failure} if the backup is larger than its header says, or than the free space of the volume
 */
export async function seekable(file: string, received: string, signal: AbortSignal): Promise<string> {
  if ((await isRepeatable(file)) && !(await isPacked(file))) return file;
  await writePrivately(bounded(openInput(file, signal), file, received), received, signal);
  return received;
}

async function isPacked(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0);
  return buffer.equals(GZIP);
}

/** The header of a database (https://www.sqlite.org/fileformat.html#the_database_header). */
const HEADER = { text: Buffer.from('SQLite format 3\0'), pageSize: 16, pages: 28, length: 100 } as const;

/**
 * Passes on as many bytes as the header of the database announces, because a few packed bytes can become many
 * gigabytes. If the input is no database, it passes on only the first chunk.
 */
async function* bounded(input: AsyncGenerator<Buffer>, file: string, received: string): AsyncGenerator<Buffer> {
  try {
    const begin = await firstBytes(input, HEADER.length);
    const most = await announcedSize(begin, file, received);
    let passed = 0;
    for await (const bytes of joined(begin, input)) {
      yield bytes;
      passed += bytes.length;
      if (most === 0) return;
      if (passed > most) throw new Failure(`${file} is no backup: it is longer than its header says (${most} bytes).`);
    }
  } finally {
    await input.return(undefined);
  }
}

/** @returns 0 if the input is no database */
async function announcedSize(begin: Buffer, file: string, received: string): Promise<number> {
  if (begin.length < HEADER.length || !begin.subarray(0, HEADER.text.length).equals(HEADER.text)) return 0;
  const pageSize = begin.readUInt16BE(HEADER.pageSize);
  const size = begin.readUInt32BE(HEADER.pages) * (pageSize === 1 ? 65_536 : pageSize);
  const { bavail, bsize } = await statfs(dirname(received));
  if (size <= bavail * bsize) return size;
  throw new Failure(
    `${file} holds ${size} bytes, and ${bavail * bsize} are free on the volume of ${dirname(received)}.`,
  );
}

/** Writes a new file that only the current user can read. */
export async function writePrivately(bytes: AsyncIterable<Buffer>, to: string, signal: AbortSignal): Promise<void> {
  await pipeline(bytes, createWriteStream(to, { flags: 'wx', mode: PRIVATE_FILE }), { signal });
}
