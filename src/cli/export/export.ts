import { createHash, type Hash } from 'node:crypto';
import { createWriteStream, fstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { type Config, loadConfigFromProcess } from '../../config/config.js';
import { SETTINGS } from '../../features.js';
import type { Resource } from '../../resource/resource.js';
import { lastIdLine, recordLine } from '../resources/record-lines.js';
import type { ResourceEntity } from '../../resource/resource-entity.js';
import type { ResourceSnapshot } from '../../resource/store/resource-snapshot.js';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { rejectDatabaseFile } from '../sqlite-file/database-path.js';
import { type Destination, destinationOf, openDestination } from '../output/destination.js';
import { Failure } from '../command-errors.js';
import { openStorage } from '../resources/open-storage.js';
import { Progress } from '../output/progress.js';
import { ReplacedError, replaceFile } from '../output/replace-file.js';

export interface ExportOptions {
  readonly output?: string;
  /** Allowed values by property. */
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly after?: number;
  readonly limit?: number;
}

export async function exportRecords(resource: Resource, options: ExportOptions, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  const destination = options.output === undefined ? undefined : await outputOf(config, options.output);
  const storage = await openStorage(config, resource, { mayMigrate: false });
  try {
    const snapshot = await storage.store.openSnapshot();
    try {
      const run = new ExportRun(resource, snapshot, options);
      if (destination === undefined) await toStdout(run, interrupt);
      else await toOutput(run, options.output!, destination, interrupt);
    } finally {
      snapshot.close();
    }
  } finally {
    await storage.close();
  }
}

async function outputOf(config: Config, output: string): Promise<Destination> {
  await rejectDatabaseFile(config, output);
  return destinationOf(output);
}

/** Reads the selected records once and computes their count and checksum. */
class ExportRun {
  private readonly hash: Hash = createHash('sha256');
  private readonly progress: Progress;
  private count = 0;

  constructor(
    private readonly resource: Resource,
    private readonly snapshot: ResourceSnapshot<ResourceEntity>,
    private readonly options: ExportOptions,
  ) {
    const { after, limit = Infinity } = options;
    const total = this.isFiltered || after ? undefined : Math.min(snapshot.usage.count, limit);
    this.progress = new Progress({ done: 'Exported', unit: resource.name.pluralText }, total);
  }

  private get isWhole(): boolean {
    const { after, limit } = this.options;
    return !this.isFiltered && after === undefined && limit === undefined;
  }

  private get isFiltered(): boolean {
    return Object.keys(this.options.filters).length > 0;
  }

  /** The lines, page by page. */
  async *lines(): AsyncGenerator<string> {
    const { filters, after, limit } = this.options;
    const selection = { filters, after };
    let last = 0;
    try {
      for await (const page of this.snapshot.records(selection, limit)) {
        const text = page.map(recordLine).join('');
        this.hash.update(text);
        this.count += page.length;
        last = page.at(-1)!.id;
        yield text;
        this.progress.update(this.count);
      }
      const given = this.isWhole ? await this.snapshot.lastGivenId() : 0;
      if (given > last) yield lastIdLine(given);
    } finally {
      this.progress.stop();
    }
  }

  summary(): string {
    return `Exported ${this.resource.name.counted(this.count)}, sha256 ${this.hash.digest('hex')}`;
  }
}

async function toStdout(run: ExportRun, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(run.lines(), stdout(), { signal });
  } catch (error) {
    signal.throwIfAborted();
    // The reader has closed the pipe, as `head` does. A summary would be wrong.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
    throw new Failure(`The output cannot be written: ${(error as Error).message}`, error);
  }
  console.error(run.summary());
}

/** An asynchronous stdout: `process.stdout` writes to a pipe synchronously, so a stalled reader would block Ctrl+C. */
function stdout(): NodeJS.WritableStream {
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket() ? new Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
}

async function toOutput(run: ExportRun, output: string, destination: Destination, signal: AbortSignal): Promise<void> {
  try {
    if (destination.kind === 'file') await toFile(run, destination.path, signal);
    else await pipeline(run.lines(), await openDestination(destination, signal), { signal });
  } catch (error) {
    if (error instanceof ReplacedError) throw error;
    signal.throwIfAborted();
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
