import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';
import { firstBytes, GZIP, isRepeatable, joined, openInput } from '../input.js';

/**
 * Copies a backup from a plain file, a gzip file or a pipe into the new file `to`. SQLite opens only the copy, because
 * it would make files beside the backup.
 * @throws {Failure} when it changes meanwhile, is no database, or has more bytes than its header says
 */
export async function receiveBackup(file: string, to: string, signal: AbortSignal): Promise<void> {
  const isPlain = (await isRepeatable(file)) && !(await isPacked(file));
  if (isPlain) await copyFiles(file, to, signal);
  else await writePrivately(bounded(openInput(file, signal), file, to), to, signal);
}

async function isPacked(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0);
  return buffer.equals(GZIP);
}

/** Copies a database file, with records that are only in its WAL. */
async function copyFiles(file: string, to: string, signal: AbortSignal): Promise<void> {
  const suffixes = ['', '-wal', '-journal'];
  const stats = () => suffixes.map((suffix) => statSync(file + suffix, { throwIfNoEntry: false }));
  const size = stats().reduce((sum, each) => sum + (each?.size ?? 0), 0);
  await requireSpace(size, file, to);
  const state = () =>
    stats()
      .map((each) => each?.mtimeMs)
      .join();
  const before = state();
  for (const suffix of suffixes.filter((each) => existsSync(file + each))) {
    await writePrivately(createReadStream(file + suffix), to + suffix, signal);
  }
  if (state() !== before) throw new Failure(`${file} was changed while it was read; restore a copy by "backup".`);
}

/** The header of a database (https://www.sqlite.org/fileformat.html#the_database_header). */
const HEADER = { text: 'SQLite format 3\0', pageSize: 16, pages: 28, length: 100 } as const;

/** Passes on at most as many bytes as the header announces: a few packed bytes can become many gigabytes. */
async function* bounded(input: AsyncGenerator<Buffer>, file: string, to: string): AsyncGenerator<Buffer> {
  const header = await firstBytes(input, HEADER.length);
  const isDatabase = header.length >= HEADER.length && header.toString('latin1').startsWith(HEADER.text);
  if (!isDatabase) throw new Failure(`${file} is not a SQLite database.`);
  const pageSize = header.readUInt16BE(HEADER.pageSize);
  const size = header.readUInt32BE(HEADER.pages) * (pageSize === 1 ? 65_536 : pageSize);
  await requireSpace(size, file, to);
  let passed = 0;
  for await (const bytes of joined(header, input)) {
    passed += bytes.length;
    if (passed > size) throw new Failure(`${file} is no backup: it is longer than its header says (${size} bytes).`);
    yield bytes;
  }
}

async function requireSpace(size: number, file: string, to: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(to));
  const free = bavail * bsize;
  if (size <= free) return;
  throw new Failure(`${file} holds ${size} bytes, but only ${free} are free on the volume of ${dirname(to)}.`);
}

async function writePrivately(bytes: AsyncIterable<Buffer>, to: string, signal: AbortSignal): Promise<void> {
  await pipeline(bytes, createWriteStream(to, { flags: 'wx', mode: PRIVATE_FILE }), { signal });
}
