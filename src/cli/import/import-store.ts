import { QueryFailedError } from 'typeorm';
import { type Sql, transaction } from '../../database/engine.js';
import { problemsIn } from '../resources/record-lines.js';
import { RejectedRecordError, StorageFullError } from '../../resource/record-errors.js';
import { deleteProgress, saveProgress, type UnfinishedImport } from './import-progress.js';
import { Failure } from '../command-errors.js';
import type { ImportJob } from './import-job.js';
import { type Batch, ImportInput } from './import-input.js';
import { brokenLine, problemsOf } from './import-validation.js';
import type { OpenStorage } from '../resources/open-storage.js';
import { Progress } from '../output/progress.js';
import { UniqueValues } from './unique-values.js';

const doneWith = ({ resource }: ImportJob) => ({ done: 'Imported', unit: resource.name.pluralText });

const reject = (line: number, problem: string): never => {
  throw new Failure(brokenLine(line, problem));
};

/**
 * Stores all records in one transaction.
 * @returns how many records were stored
 * @throws {Failure} when nothing is stored
 */
export async function storeAtOnce(storage: OpenStorage, job: ImportJob, total?: number): Promise<number> {
  const progress = new Progress(doneWith(job), total);
  try {
    // The engine may run this function again after a full disk, so it starts from the beginning.
    return await transaction(storage.dataSource, async (tx) => {
      let stored = 0;
      const input = new ImportInput(job, { onBroken: reject, ids: job.options.ids });
      for await (const batch of input.batches(job.open())) {
        job.interrupt.throwIfAborted();
        await createAll(storage, tx, batch);
        progress.update((stored += batch.entries.length));
      }
      await keepLastId(storage, tx, input);
      return stored;
    });
  } catch (error) {
    throw new Failure(`${(error as Error).message}\nNothing is stored: the import is undone.`, error);
  } finally {
    progress.stop();
  }
}

/**
 * Stores batch after batch, each with the progress of the import.
 * @returns how many records were stored by this run
 * @throws {Failure} which says what is stored and how to go on
 */
export async function storeInBatches(storage: OpenStorage, job: ImportJob, total?: number): Promise<number> {
  const run = new ImportRun(storage, job, new Progress(doneWith(job), total));
  try {
    await run.storeAll();
  } catch (error) {
    throw new Failure(`${(error as Error).message}\n${run.state()}`, error);
  }
  return run.stored;
}

class ImportRun {
  stored = 0;
  private at?: UnfinishedImport;
  private readonly started = new Date().toISOString();

  constructor(
    private readonly storage: OpenStorage,
    private readonly job: ImportJob,
    private readonly progress: Progress,
  ) {
    this.at = job.resumed;
  }

  async storeAll(): Promise<void> {
    const { options, resumed, open, interrupt } = this.job;
    const input = new ImportInput(this.job, { onBroken: reject, resumed, ids: options.ids ?? resumed?.ids });
    try {
      for await (const batch of input.batches(open())) {
        interrupt.throwIfAborted();
        await this.store(batch, input.ids!);
        this.progress.update(this.stored);
      }
      await transaction(this.storage.dataSource, async (tx) => {
        await keepLastId(this.storage, tx, input);
        if (this.at !== undefined) await deleteProgress(tx, this.at.resource);
      });
    } finally {
      this.progress.stop();
    }
  }

  /** Stores a batch; when the capacity is reached, as many of its records as fit. */
  private async store(batch: Batch, ids: UnfinishedImport['ids']): Promise<void> {
    const resource = this.job.resource.name.plural;
    const digest = batch.hash().digest('hex');
    const to = { resource, lines: batch.lastLine, digest, ids, started: this.at?.started ?? this.started };
    try {
      await transaction(this.storage.dataSource, async (tx) => {
        await saveProgress(tx, this.at, to);
        await createAll(this.storage, tx, batch);
      });
    } catch (error) {
      if (!(error instanceof StorageFullError)) throw error;
      if (batch.entries.length === 1) throw this.noRoomFor(batch.lastLine);
      for (const half of batch.halves()) await this.store(half, ids);
      return;
    }
    this.at = to;
    this.stored += batch.entries.length;
  }

  private noRoomFor(line: number): Failure {
    const { name, capacity } = this.job.resource;
    const most = this.storage.store.counter.capacity;
    return new Failure(
      `Line ${line} finds no room: the storage holds ${most} ${name.pluralText}, as many as ${capacity.name} allows.`,
    );
  }

  /** Tells what an interrupted import has stored and how to resume it. */
  state(): string {
    if (this.at === undefined) return 'Nothing is stored.';
    const again = this.job.file === undefined ? 'the same input' : this.job.file;
    return (
      `The first ${this.at.lines} lines are stored. Go on with: import ${this.job.resource.name.plural} ${again} --resume\n` +
      'Lines after these may be corrected before; the stored ones must stay as they are.'
    );
  }
}

/** Advances the id sequence beyond the ids of the old storage, deleted records included. */
async function keepLastId({ store }: OpenStorage, tx: Sql, { ids, lastId }: ImportInput): Promise<void> {
  if (lastId !== undefined && ids !== 'assign') await store.in(tx).advanceIds(lastId);
}

/** Stores a batch; an error names the rejected line. */
async function createAll(storage: OpenStorage, tx: Sql, batch: Batch): Promise<void> {
  try {
    await storage.store.in(tx).createMany(batch.entries.map(({ record }) => record));
  } catch (error) {
    if (error instanceof RejectedRecordError)
      return reject(batch.entries[error.index]!.number, problemsIn(error.cause));
    if (!(error instanceof QueryFailedError)) throw error;
    const [first] = await problemsOf(storage, batch, new UniqueValues(storage));
    if (first === undefined) throw error;
    return reject(first.line, first.problem);
  }
}
