import { createHash } from 'node:crypto';
import { BODY_LIMIT } from '../../http/body/body-limit.js';
import { parseNatural } from '../../http/validation/query-values.js';
import type { Id } from '../../resource/id-kinds.js';
import type { AnyResourceEntity, NewRecord } from '../../resource/resource-entity.js';
import type { Resource } from '../../resource/resource.js';
import { Failure } from '../command-errors.js';
import type { OpenRepository } from '../resources/open-storage.js';
import { BrokenLineError, type ReadRecord } from '../resources/record-lines.js';
import { LARGEST_ID } from '../resources/resources.js';
import type { UnfinishedImport } from './import-progress.js';

export interface ImportOptions {
  readonly ids?: 'keep' | 'assign';
  readonly dryRun?: true;
  readonly atomic?: true;
  readonly resume?: true;
  readonly forget?: true;
}

export interface ImportJob {
  readonly resource: Resource;
  readonly store: OpenRepository;
  readonly read: ReadRecord;
  readonly options: ImportOptions;
  /** The properties that refer to records of the same resource. */
  readonly ownReferences: readonly string[];
  readonly interrupt: AbortSignal;
  /** Opens the input; a file is read from its beginning each time. */
  readonly open: () => AsyncIterable<Buffer>;
  /** The path of the input file; absent for a pipe, which can be read only once. */
  readonly file?: string;
  readonly resumed?: UnfinishedImport;
}

export interface Entry {
  readonly number: number;
  readonly record: NewRecord<AnyResourceEntity>;
  /** SHA-256 of all lines up to this one. */
  readonly digest: string;
}

export const brokenLine = (line: number, problem: string): string => `Line ${line} is wrong: ${problem}.`;

/** Lines of a batch: enough to share a commit, few enough for writes of the service between two batches. */
const BATCH = 1000;

/** Reads an input in batches of valid lines. It skips the lines that a resumed import has stored. */
export class ImportInput {
  /** As `--ids` says. Without the option, the first line decides: `keep` if it has an id, otherwise `none`. */
  ids?: UnfinishedImport['ids'];
  lastId?: number;
  private readonly hash = createHash('sha256');

  /** @param onBroken called for every invalid line; an exception ends the reading */
  constructor(
    private readonly job: ImportJob,
    private readonly onBroken: (line: number, problem: string) => void,
  ) {
    this.ids = job.options.ids ?? job.resumed?.ids;
  }

  /** @throws {Failure} when the input differs from the input of the resumed import */
  async *batches(): AsyncGenerator<readonly Entry[]> {
    const stored = this.job.resumed?.lines ?? 0;
    let number = 0;
    let batch: Entry[] = [];
    for await (const line of linesOf(this.job.open())) {
      number++;
      const entry = number > stored ? await this.take(number, line) : this.skip(number, line);
      if (entry !== undefined) batch.push(entry);
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
    if (number < stored) throw anotherInput(stored);
    if (batch.length > 0) yield batch;
  }

  /** @returns SHA-256 of all lines so far */
  private digestWith(bytes: Buffer): string {
    return this.hash.update(bytes).update('\n').copy().digest('hex');
  }

  private skip(number: number, bytes: Line = Buffer.alloc(0)): undefined {
    const { lines, digest } = this.job.resumed!;
    const found = this.digestWith(bytes);
    if (number === lines && found !== digest) throw anotherInput(lines);
  }

  /** @returns `undefined` for an invalid line and for the `lastId` line */
  private async take(number: number, bytes: Line): Promise<Entry | undefined> {
    try {
      if (this.lastId !== undefined) throw new BrokenLineError('it comes after "lastId", which ends an export');
      const { name } = this.job.resource;
      // Only integer ids come from a sequence, so only an export with such ids ends with the last one.
      this.lastId = bytes && name.ids.next === undefined ? readLastIdLine(bytes) : undefined;
      if (this.lastId !== undefined) return this.requireIdsLeft(this.lastId);
      if (bytes === undefined) {
        throw new BrokenLineError(`it is longer than the ${BODY_LIMIT} bytes that ${name.indefinite} may take`);
      }
      const record = await this.job.read(bytes);
      const id = this.idFor(record.id);
      if (id !== record.id) this.rejectOldIds(record);
      return { number, record: { ...record, id }, digest: this.digestWith(bytes) };
    } catch (error) {
      if (!(error instanceof BrokenLineError)) throw error;
      this.onBroken(number, error.message);
      return undefined;
    }
  }

  /** Rejects a record that gets a new id and names others by their ids, which change, too. */
  private rejectOldIds(record: object): void {
    const name = this.job.ownReferences.find((each) => (record as Record<string, unknown>)[each] != null);
    if (name === undefined) return;
    throw new BrokenLineError(
      `"${name}" names a record by its id, and --ids assign gives new ids; use --ids keep with an empty storage`,
    );
  }

  private requireIdsLeft(id: Id): undefined {
    if (typeof id === 'string' || id <= LARGEST_ID) return;
    throw new BrokenLineError(
      `its id ${id} leaves too few ids for new records: it must be at most ${LARGEST_ID}; use --ids assign to give all lines new ids`,
    );
  }

  /** The id to store; `undefined` for a new id. */
  private idFor(id: Id | undefined): Id | undefined {
    this.ids ??= id === undefined ? 'none' : 'keep';
    if (this.ids === 'assign') return undefined;
    if (this.ids === 'none') {
      if (id === undefined) return undefined;
      throw new BrokenLineError(
        'it has an id, which lines before it lack; use --ids assign to give all of them new ids',
      );
    }
    if (id === undefined) throw new BrokenLineError('it has no "id"; use --ids assign to give all lines new ids');
    this.requireIdsLeft(id);
    return id;
  }
}

function anotherInput(lines: number): Failure {
  return new Failure(
    `This is not the input whose import was interrupted: its first ${lines} lines are not those that are stored. ` +
      'Give the same input, or start again with --forget.',
  );
}

/** A line of the input without its line end; `undefined` if it is longer than a request body may be. */
type Line = Buffer | undefined;

const NEWLINE = 0x0a;

/** Splits a stream of bytes into lines. The last line needs no line end. */
async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0);
  let isReported = false;
  // A line beyond the limit of a request body is not kept in memory, and is reported before its end: it may have none.
  const line = (bytes: Buffer): Line => (bytes.length > BODY_LIMIT ? undefined : bytes);
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const bytes = chunk.subarray(start, end);
      if (!isReported) yield line(rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes);
      isReported = false;
      rest = rest.subarray(0, 0);
      start = end + 1;
    }
    if (rest.length <= BODY_LIMIT) rest = Buffer.concat([rest, chunk.subarray(start)]);
    if (rest.length <= BODY_LIMIT || isReported) continue;
    isReported = true;
    yield undefined;
  }
  if (rest.length > 0 && !isReported) yield line(rest);
}

/** The id of a `lastId` line; `undefined` for any other line. */
function readLastIdLine(line: Buffer): number | undefined {
  const [, id] = /^\s*\{\s*"lastId"\s*:\s*([1-9][0-9]*)\s*\}\s*$/.exec(line.toString()) ?? [];
  return id === undefined ? undefined : parseNatural(id);
}
