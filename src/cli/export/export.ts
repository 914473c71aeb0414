import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { loadConfigFromProcess } from '../../config/config.js';
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
  const { output = 'The output' } = options;
  if (options.output !== undefined) await rejectDatabaseFile(config, output);
  const destination = options.output === undefined ? STDOUT : await destinationOf(output);
  const storage = await openStorage(config, resource, { mayMigrate: false });
  try {
    const snapshot = await storage.store.openSnapshot();
    try {
      await write(new ExportRun(resource, snapshot, options), output, destination, interrupt);
    } finally {
      snapshot.close();
    }
  } finally {
    await storage.close();
  }
}

/** Reads the selected records once and computes their count and checksum. */
class ExportRun {
  private readonly hash: Hash = createHash('sha256');
  private readonly progress: Progress;
  /** Whether all records are exported. */
  private readonly isWhole: boolean;
  private count = 0;

  constructor(
    private readonly resource: Resource,
    private readonly snapshot: ResourceSnapshot<AnyResourceEntity>,
    private readonly options: ExportOptions,
  ) {
    const { after, limit, filters } = options;
    const isFiltered = Object.keys(filters).length > 0;
    this.isWhole = !isFiltered && after === undefined && limit === undefined;
    const total = isFiltered || after ? undefined : Math.min(snapshot.usage.count, limit ?? Infinity);
    this.progress = new Progress({ done: 'Exported', unit: resource.name.pluralText }, total);
  }

  /** The lines, page by page. */
  async *lines(): AsyncGenerator<string> {
    const { filters, after, limit } = this.options;
    let last: Id = 0;
    try {
      for await (const page of this.snapshot.records({ filters, after }, limit)) {
        const text = page.map(recordLine).join('');
        this.hash.update(text);
        this.count += page.length;
        last = page.at(-1)!.id;
        yield text;
        this.progress.update(this.count);
      }
      const given = this.isWhole ? await this.snapshot.lastGivenId() : 0;
      if (typeof last === 'number' && given > last) yield lastIdLine(given);
    } finally {
      this.progress.stop();
    }
  }

  summary(): string {
    return `Exported ${this.resource.name.counted(this.count)}, sha256 ${this.hash.digest('hex')}`;
  }
}

/** Writes the lines, then the summary to stderr. */
async function write(run: ExportRun, output: string, destination: Destination, signal: AbortSignal): Promise<void> {
  try {
    if (destination.kind === 'file') await toFile(run, destination.path, signal);
    else await pipeline(run.lines(), await openDestination(destination, signal), { signal });
  } catch (error) {
    if (error instanceof ReplacedError) throw error;
    signal.throwIfAborted();
    // The reader has closed the pipe, as `head` does. A summary would be wrong.
    if (destination.kind === 'descriptor' && (error as NodeJS.ErrnoException).code === 'EPIPE') return;
    const rest = destination.kind === 'file' ? ' Nothing is left of it.' : '';
    throw new Failure(`${output} cannot be written: ${(error as Error).message}.${rest}`, error);
  }
  console.error(run.summary());
}

async function toFile(run: ExportRun, path: string, signal: AbortSignal): Promise<void> {
  const draft = `${path}.partial-${process.pid}`;
  try {
    await pipeline(run.lines(), createWriteStream(draft, { flags: 'wx', mode: PRIVATE_FILE }), { signal });
    await replaceFile(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}
