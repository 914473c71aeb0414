import { createHash, type Hash } from 'node:crypto';
import { createWriteStream, fstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { type Config, loadConfigFromProcess } from '../config/config.js';
import type { Cookie } from '../cookies/cookie.entity.js';
import type { Flavor, Size } from '../cookies/cookie.values.js';
import { lastIdLine, recordLine } from '../resource/lines/record-line.js';
import type { ResourceSnapshot } from '../resource/store/resource-snapshot.js';
import { PRIVATE_FILE } from '../database/sqlite/file/private-file.js';
import { rejectDatabaseFile } from './database-file.js';
import { type Destination, destinationOf, openDestination } from './output/destination.js';
import { Failure } from './errors.js';
import { openStorage } from './open-database.js';
import { Progress } from './output/progress.js';
import { ReplacedError, replaceFile } from './output/replace-file.js';

export interface ExportOptions {
  readonly output?: string;
  readonly flavor?: Flavor[];
  readonly size?: Size[];
  readonly after?: number;
  readonly limit?: number;
}

export async function exportCookies(options: ExportOptions, interrupt: AbortSignal): Promise<void> {
  const config = loadConfigFromProcess();
  const destination = options.output === undefined ? undefined : await outputOf(config, options.output);
  const storage = await openStorage(config, { mayMigrate: false });
  try {
    const snapshot = await storage.cookies.openSnapshot();
    try {
      const run = new Run(snapshot, options);
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

/** One pass over the selected cookies, which counts them and adds up their checksum. */
class Run {
  private readonly hash: Hash = createHash('sha256');
  private readonly progress: Progress;
  private count = 0;

  constructor(
    private readonly snapshot: ResourceSnapshot<Cookie>,
    private readonly options: ExportOptions,
  ) {
    const { flavor, size, after, limit = Infinity } = options;
    const total = flavor || size || after ? undefined : Math.min(snapshot.usage.count, limit);
    this.progress = new Progress({ done: 'Exported', unit: 'cookies' }, total);
  }

  private get isWhole(): boolean {
    const { flavor, size, after, limit } = this.options;
    return [flavor, size, after, limit].every((option) => option === undefined);
  }

  /** The lines, a page at a time. */
  async *lines(): AsyncGenerator<string> {
    const { flavor, size, after, limit } = this.options;
    const selection = { filters: { flavor, size }, after };
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
    return `Exported ${this.count} cookies, sha256 ${this.hash.digest('hex')}`;
  }
}

async function toStdout(run: Run, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(run.lines(), stdout(), { signal });
  } catch (error) {
    signal.throwIfAborted();
    // The reader has had enough, as `head` has. There is no summary then, which would speak of all.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
    throw new Failure(`The output cannot be written: ${(error as Error).message}`, error);
  }
  console.error(run.summary());
}

/** Node's own stdout writes to a pipe synchronously: a reader that stalls would stall Ctrl+C, too. */
function stdout(): NodeJS.WritableStream {
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket() ? new Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
}

async function toOutput(run: Run, output: string, destination: Destination, signal: AbortSignal): Promise<void> {
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

async function toFile(run: Run, path: string, signal: AbortSignal): Promise<void> {
  const draft = `${path}.partial-${process.pid}`;
  try {
    await pipeline(run.lines(), createWriteStream(draft, { flags: 'wx', mode: PRIVATE_FILE }), { signal });
    await replaceFile(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}
