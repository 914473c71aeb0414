import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { type Config, loadConfigFromProcess } from '../../config/config.js';
import { SETTINGS } from '../../features.js';
import type { Id } from '../../resource/id-kinds.js';
import type { Resource } from '../../resource/resource.js';
import { lastIdLine, recordLine } from '../resources/record-lines.js';
import type { AnyResourceEntity } from '../../resource/resource-entity.js';
import type { ResourceSnapshot } from '../../resource/store/resource-snapshot.js';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { rejectDatabaseFile } from '../sqlite-file/database-path.js';
import { type Destination, destinationOf, openDestination } from '../output/destination.js';
import { Failure } from '../command-errors.js';
import { openStorage } from '../resources/open-storage.js';
import { Progress } from '../output/progress.js';
import { ReplacedError, replaceFile } from '../output/replace-file.js';

const STDOUT: Destination = { kind: 'descriptor', fd: 1 };

export interface ExportOptions {
  readonly output?: string;
  /** Allowed values by property. */
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly after?: Id;
  readonly limit?: number;
}

export async function exportRecords(resource: Resource, options: ExportOptions, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  const [output, destination] = await targetOf(config, options.output);
  await using storage = await openStorage(config, resource, { mayMigrate: false });
  using snapshot = await storage.store.openSnapshot();
  const summary: Summary = { hash: createHash('sha256'), count: 0 };
  const lines = linesOf(resource, snapshot, options, summary);
  if (!(await write(lines, output, destination, interrupt))) return;
  console.error(`Exported ${resource.name.counted(summary.count)}, sha256 ${summary.hash.digest('hex')}`);
}

/**
 * The name of the output in messages, and where it goes: stdout if no output is given.
 * @throws {UsageError} for a place that cannot be written, such as the database
 */
export async function targetOf(config: Config, output?: string): Promise<[name: string, destination: Destination]> {
  if (output === undefined) return ['The output', STDOUT];
  await rejectDatabaseFile(config, output);
  return [output, await destinationOf(output)];
}

interface Summary {
  /** SHA-256 of the records' lines. */
  readonly hash: Hash;
  count: number;
}

/** The lines, page by page. Each page is added to the summary. */
async function* linesOf(
  { name }: Resource,
  snapshot: ResourceSnapshot<AnyResourceEntity>,
  { filters, after, limit }: ExportOptions,
  summary: Summary,
): AsyncGenerator<string> {
  const isFiltered = Object.keys(filters).length > 0;
  const isWhole = !isFiltered && after === undefined && limit === undefined;
  const total = isFiltered || after ? undefined : Math.min(snapshot.usage.count, limit ?? Infinity);
  const progress = new Progress({ done: 'Exported', unit: name.pluralText }, total);
  let last: Id = 0;
  try {
    for await (const page of snapshot.records({ filters, after }, limit)) {
      const text = page.map(recordLine).join('');
      summary.hash.update(text);
      summary.count += page.length;
      last = page.at(-1)!.id;
      yield text;
      progress.update(summary.count);
    }
    const given = isWhole ? await snapshot.lastGivenId() : 0;
    if (typeof last === 'number' && given > last) yield lastIdLine(given);
  } finally {
    progress.stop();
  }
}

type Lines = AsyncGenerator<string>;

/**
 * Writes the lines of an export.
 * @returns whether they are written; not when the reader has closed the pipe, as `head` does
 */
export async function write(
  lines: Lines,
  output: string,
  destination: Destination,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (destination.kind === 'file') await toFile(lines, destination.path, signal);
    else await pipeline(lines, await openDestination(destination, signal), { signal });
    return true;
  } catch (error) {
    if (error instanceof ReplacedError) throw error;
    signal.throwIfAborted();
    if (destination.kind === 'descriptor' && (error as NodeJS.ErrnoException).code === 'EPIPE') return false;
    const rest = destination.kind === 'file' ? ' Nothing is left of it.' : '';
    throw new Failure(`${output} cannot be written: ${(error as Error).message}.${rest}`, error);
  }
}

async function toFile(lines: Lines, path: string, signal: AbortSignal): Promise<void> {
  const draft = `${path}.partial-${process.pid}`;
  try {
    await pipeline(lines, createWriteStream(draft, { flags: 'wx', mode: PRIVATE_FILE }), { signal });
    await replaceFile(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}
