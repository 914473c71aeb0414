import { constants, createReadStream, fstatSync, openSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { fileProblem } from '../database/sqlite/file/file-problem.js';
import { Failure } from './command-errors.js';

/** Magic bytes of gzip (RFC 1952 section 2.3.1). Neither NDJSON nor a database begins with them. */
export const GZIP = Buffer.from([0x1f, 0x8b]);

const CHUNK = 256 * 1024;

const STDIN = ['-', '/dev/stdin'];

/**
 * Checks a file, or stdin without one, before a command makes anything.
 * @throws {Failure} if it is missing, a folder, or closed to this user
 */
export async function requireReadable(file?: string): Promise<void> {
  const name = file ?? 'stdin';
  try {
    const isStdin = file === undefined || STDIN.includes(file);
    // The shell has opened stdin, perhaps from a file that this user may not open.
    if (!isStdin) await access(file, constants.R_OK);
    // Node would read no bytes from a folder as stdin, and report no error.
    if ((isStdin ? fstatSync(0) : await stat(file)).isDirectory()) throw new Error('it is a folder');
  } catch (error) {
    throw new Failure(`${name} cannot be read: ${fileProblem(name, error)}.`, error);
  }
}

/** Reads a file, or stdin without one, and decompresses gzip. It throws a `Failure` when it cannot be read. */
export async function* openInput(file: string | undefined, signal: AbortSignal): AsyncGenerator<Buffer> {
  const name = file ?? 'stdin';
  try {
    const stream = file === undefined ? process.stdin : await streamOf(file);
    addAbortSignal(signal, stream);
    yield* unpacked(stream, signal, file?.endsWith('.gz'));
  } catch (error) {
    signal.throwIfAborted();
    throw new Failure(`${name} cannot be read: ${(error as Error).message}.`, error);
  }
}

/** Tells whether an input can be read twice; a pipe cannot. */
export async function isRepeatable(file: string): Promise<boolean> {
  return !STDIN.includes(file) && ((await stat(file).catch(() => undefined))?.isFile() ?? true);
}

async function streamOf(file: string): Promise<Readable> {
  if (STDIN.includes(file)) return process.stdin;
  if (!(await stat(file)).isFIFO()) return createReadStream(file, { highWaterMark: CHUNK });
  // Without O_NONBLOCK, open(2) would wait for a writer, and no signal could interrupt it.
  return new Socket({ fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
}

async function* unpacked(stream: Readable, signal: AbortSignal, isPacked = false): AsyncGenerator<Buffer> {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const begin = await firstBytes(chunks, GZIP.length);
  // A command that failed may leave an empty file, which must not count as an export of 0 records.
  if (isPacked && begin.length === 0) throw new Error('it is empty, and so no gzip file');
  const bytes = joined(begin, chunks);
  if (!begin.subarray(0, GZIP.length).equals(GZIP)) {
    yield* bytes;
    return;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK });
  // The caller gets the errors from its loop over the output.
  pipeline(Readable.from(bytes, { objectMode: false }), gunzip, { signal }).catch(() => {});
  yield* gunzip as AsyncIterable<Buffer>;
}

/** Reads the first `length` bytes, or all if there are fewer. A pipe may deliver them one by one. */
export async function firstBytes(chunks: AsyncIterator<Buffer>, length: number): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  while (bytes.length < length) {
    const next = await chunks.next();
    if (next.done) break;
    bytes = Buffer.concat([bytes, next.value]);
  }
  return bytes;
}

/** The bytes that `firstBytes` has read, then the rest. */
export async function* joined(begin: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (begin.length > 0) yield begin;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
