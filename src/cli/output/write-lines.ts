import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Config } from '../../config/config.js';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';
import { rejectDatabaseFile } from '../sqlite-file/database-path.js';
import { type Destination, destinationOf, openDestination } from './destination.js';
import { ReplacedError, replaceFile } from './replace-file.js';

/** Where the lines of a command go. */
export interface Target {
  /** Its name in messages. */
  readonly name: string;
  readonly destination: Destination;
}

/**
 * The target of the option `--output`; stdout without it.
 * @throws {UsageError} for a place that cannot be written, such as the database
 */
export async function targetOf(config: Config, output?: string): Promise<Target> {
  if (output === undefined) return { name: 'The output', destination: { kind: 'descriptor', fd: 1 } };
  await rejectDatabaseFile(config, output);
  return { name: output, destination: await destinationOf(output) };
}

type Lines = AsyncGenerator<string>;

/** @returns whether the lines are written; not when the reader has closed the pipe, as `head` does */
export async function writeLines(lines: Lines, { name, destination }: Target, signal: AbortSignal): Promise<boolean> {
  // Import reads what is packed, too.
  const source = [Readable.from(lines), ...(name.endsWith('.gz') ? [createGzip()] : [])];
  try {
    if (destination.kind === 'file') await toFile(source, destination.path, signal);
    else await pipeline([...source, await openDestination(destination, signal)], { signal });
    return true;
  } catch (error) {
    if (error instanceof ReplacedError) throw error;
    signal.throwIfAborted();
    if (destination.kind === 'descriptor' && (error as NodeJS.ErrnoException).code === 'EPIPE') return false;
    const rest = destination.kind === 'file' ? ' Nothing is left of it.' : '';
    throw new Failure(`${name} cannot be written: ${(error as Error).message}.${rest}`, error);
  }
}

async function toFile(source: readonly Readable[], path: string, signal: AbortSignal): Promise<void> {
  const draft = `${path}.partial-${process.pid}`;
  try {
    await pipeline([...source, createWriteStream(draft, { flags: 'wx', mode: PRIVATE_FILE })], { signal });
    await replaceFile(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}
