import { constants, createWriteStream, fstatSync, openSync, type Stats } from 'node:fs';
import { open, readlink, realpath, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../command-errors.js';

/** The target of a command's output, with symbolic links resolved. */
export type Destination =
  /** A file that may not exist yet; a complete new file replaces it. */
  | { readonly kind: 'file'; readonly path: string }
  /** A device or a FIFO; the output is written into it. */
  | { readonly kind: 'device' | 'fifo'; readonly path: string }
  /** A descriptor of this process, such as `/dev/stdout`. */
  | { readonly kind: 'descriptor'; readonly fd: number };

/** Maximum number of symbolic links to follow, as on Linux (path_resolution(7)). */
const MOST_LINKS = 40;

/** Milliseconds between two attempts to open a FIFO. */
const FIFO_POLL = 50;

/**
 * Resolves symbolic links, also to a missing file. "-" is stdout.
 * @throws {UsageError} for a folder, a socket, or links that lead in a circle
 */
export async function destinationOf(output: string): Promise<Destination> {
  if (output === '-') return { kind: 'descriptor', fd: 1 };
  const path = await followLinks(output);
  const fd = ownDescriptor(path);
  if (fd !== undefined) return { kind: 'descriptor', fd };
  const found = await stat(path).catch(() => undefined);
  return { kind: kindOf(output, found), path };
}

/**
 * Resolves all symbolic links of a path; the last one may point to a missing file.
 * @throws {UsageError} when they lead in a circle
 */
export async function followLinks(path: string): Promise<string> {
  let current = resolve(path);
  for (let links = 0; links < MOST_LINKS; links++) {
    const folder = await realpath(dirname(current)).catch(() => dirname(current));
    current = join(folder, basename(current));
    const target = ownDescriptor(current) === undefined ? await readlink(current).catch(() => undefined) : undefined;
    if (target === undefined) return current;
    current = resolve(folder, target);
  }
  throw new UsageError(`${path} is a symbolic link in a circle; name a file`);
}

/**
 * Opens a device or a FIFO. It waits until a FIFO has a reader.
 * @throws SystemError
 */
export async function openDestination(
  destination: Exclude<Destination, { kind: 'file' }>,
  signal: AbortSignal,
): Promise<Writable> {
  if (destination.kind === 'descriptor') return descriptorStream(destination.fd);
  if (destination.kind === 'fifo') {
    return new Socket({ fd: await openFifo(destination.path, signal), readable: false, writable: true });
  }
  return (await open(destination.path, constants.O_WRONLY)).createWriteStream();
}

/** A stream to a descriptor. `process.stdout` writes to a pipe synchronously: a stalled reader would block Ctrl+C. */
function descriptorStream(fd: number): Writable {
  const kind = fstatSync(fd);
  if (kind.isFIFO() || kind.isSocket()) return new Socket({ fd, readable: false, writable: true });
  return fd === 1 ? process.stdout : createWriteStream('', { fd, autoClose: false });
}

/** Opens without blocking: no signal could interrupt a wait in open(2). */
async function openFifo(path: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      // The FIFO has no reader yet.
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    }
    await sleep(FIFO_POLL);
  }
}

function kindOf(output: string, found: Stats | undefined): 'file' | 'device' | 'fifo' {
  if (found === undefined || found.isFile()) return 'file';
  if (found.isFIFO()) return 'fifo';
  if (found.isCharacterDevice() || found.isBlockDevice()) return 'device';
  throw new UsageError(`${output} is a ${found.isDirectory() ? 'folder' : 'socket'}; name a file`);
}

function ownDescriptor(path: string): number | undefined {
  const [, fd] = new RegExp(`^/proc/(?:self|${process.pid})/fd/([0-9]+)$`).exec(path) ?? [];
  return fd === undefined ? undefined : Number(fd);
}
