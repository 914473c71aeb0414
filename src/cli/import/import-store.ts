import { QueryFailedError } from 'typeorm';
import { engineOf, type Sql, transaction } from '../../database/engine.js';
import { OutcomeUnknownError } from '../../database/errors.js';
import { RejectedRecordError, StorageFullError } from '../../resource/record-errors.js';
import { Failure } from '../command-errors.js';
import { Progress } from '../output/progress.js';
import type { OpenStorage } from '../resources/open-storage.js';
import { problemsIn } from '../resources/record-lines.js';
import { type Batch, ImportInput, type ImportJob } from './import-input.js';
import { deleteProgress, saveProgress } from './import-progress.js';
import { brokenLine, problemsOf } from './import-validation.js';
import type { UnfinishedImport } from './import.entity.js';
import { UniqueValues } from './unique-values.js';

const reject = (line: number, problem: string): never => {
  throw new Failure(brokenLine(line, problem));
};

/**
 * Stores all records in one transaction.
 * @returns how many records were stored
 * @throws {Failure} when nothing is stored, or the response to COMMIT was lost
 */
export async function storeAtomically(storage: OpenStorage, job: ImportJob, total?: number): Promise<number> {
  using progress = new Progress('Imported', job.resource.name.pluralText, total);
  try {
    // The engine may run this function again after a full disk, so it starts from the beginning.
    return await transaction(storage.dataSource, async (tx) => {
      if (job.ownReferences.length > 0) await tx.query(engineOf(storage.dataSource).dialect.deferReferences, []);
      let stored = 0;
      const input = new ImportInput(job, reject);
      for await (const batch of input.batches()) {
        job.interrupt.throwIfAborted();
        await createAll(storage, tx, batch);
        stored += batch.entries.length;
        progress.update(stored);
      }
      await advanceIds(storage, tx, input);
      if (job.resumed !== undefined) await deleteProgress(tx, job.resumed.resource);
      return stored;
    });
  } catch (error) {
    const isUnknown = error instanceof OutcomeUnknownError;
    const state = isUnknown ? 'All lines are stored, or none.' : 'Nothing is stored: the import is undone.';
    throw new Failure(`${(error as Error).message}\n${state}`, error);
  }
}

/**
 * Stores batch after batch, each with the progress of the import.
 * @returns how many records were stored by this run
 * @throws {Failure} with the state of the import and how to continue
 */
export async function storeInBatches(storage: OpenStorage, job: ImportJob, total?: number): Promise<number> {
  const run = new ImportRun(storage, job);
  using progress = new Progress('Imported', job.resource.name.pluralText, total);
  try {
    await run.storeAll(progress);
  } catch (error) {
    throw new Failure(`${(error as Error).message}\n${run.state()}`, error);
  }
  return run.stored;
}

/** One run of an import, which may continue an interrupted one. */
class ImportRun {
  stored = 0;
  private saved?: UnfinishedImport;
  private readonly started = new Date().toISOString();

  constructor(
    private readonly storage: OpenStorage,
    private readonly job: ImportJob,
  ) {
    this.saved = job.resumed;
  }

  async storeAll(progress: Progress): Promise<void> {
    const input = new ImportInput(this.job, reject);
    for await (const batch of input.batches()) {
      this.job.interrupt.throwIfAborted();
      await this.store(batch, input.ids!);
      progress.update(this.stored);
    }
    await transaction(this.storage.dataSource, async (tx) => {
      await advanceIds(this.storage, tx, input);
      if (this.saved !== undefined) await deleteProgress(tx, this.saved.resource);
    });
  }

  /** Stores a batch; when the capacity is reached, as many of its records as fit. */
  private async store(batch: Batch, ids: UnfinishedImport['ids']): Promise<void> {
    const resource = this.job.resource.name.plural;
    const digest = batch.hash().digest('hex');
    const to = { resource, lines: batch.lastLine, digest, ids, started: this.saved?.started ?? this.started };
    try {
      await transaction(this.storage.dataSource, async (tx) => {
        await saveProgress(tx, this.saved, to);
        await createAll(this.storage, tx, batch);
      });
    } catch (error) {
      if (!(error instanceof StorageFullError)) throw error;
      if (batch.entries.length === 1) {
        const { name, capacity } = this.job.resource;
        const holds = `the storage holds ${this.storage.store.counter.capacity} ${name.pluralText}`;
        throw new Failure(`Line ${batch.lastLine} cannot be stored: ${holds}, as many as ${capacity.name} allows.`);
      }
      for (const half of batch.halves()) await this.store(half, ids);
      return;
    }
    this.saved = to;
    this.stored += batch.entries.length;
  }

  /** Describes the state of an interrupted import and how to resume it. */
  state(): string {
    if (this.saved === undefined) return 'Nothing is stored.';
    const again = this.job.file ?? 'the same input';
    return (
      `The first ${this.saved.lines} lines are stored. Go on with: import ${this.job.resource.name.plural} ${again} --resume\n` +
      'You may correct later lines first; the stored ones must stay as they are.'
    );
  }
}

/** Advances the id sequence beyond the ids of the old storage, deleted records included. */
async function advanceIds({ store }: OpenStorage, tx: Sql, { ids, lastId }: ImportInput): Promise<void> {
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
    const found = await problemsOf(storage, batch, new UniqueValues(storage));
    const first = found.find(({ unlessImported }) => unlessImported === undefined);
    if (first === undefined) throw error;
    return reject(first.line, first.problem);
  }
}
