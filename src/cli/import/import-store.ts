import { HttpException } from '@nestjs/common';
import { constraintViolation } from '../../database/constraint-violation.js';
import type { EntityMetadata } from 'typeorm';
import { engineOf, type Sql, transaction } from '../../database/engine.js';
import { DiskFullError, OutcomeUnknownError } from '../../database/errors.js';
import type { Id } from '../../resource/id-kinds.js';
import { StorageFullError } from '../../resource/usage/usage-counter.js';
import { Failure } from '../command-errors.js';
import { progressOf } from '../output/progress.js';
import { problemsIn } from '../resources/record-lines.js';
import { brokenLine, type Entry, ImportInput, type ImportJob } from './import-input.js';
import { deleteProgress, saveProgress, type UnfinishedImport } from './import-progress.js';

const reject = (line: number, problem: string): never => {
  throw new Failure(brokenLine(line, problem));
};

/** Ends the transaction of `--dry-run`. */
class DryRunEnd extends Error {}

/**
 * Stores all records in one transaction, which `--dry-run` rolls back.
 * @returns how many records were stored
 * @throws {Failure} when nothing is stored, or the response to COMMIT was lost
 */
export async function storeAtomically(job: ImportJob, total?: number): Promise<number> {
  const { dataSource } = job.store.table;
  let stored = 0;
  try {
    // The engine may run this function again after a full disk, so it starts from the beginning.
    await transaction(dataSource, async (tx) => {
      const isDeferred = job.ownReferences.length > 0;
      if (isDeferred) await tx.query(engineOf(dataSource).dialect.deferReferences, []);
      const input = new ImportInput(job, reject);
      stored = await storeEach(input, job, total, (batch) => createAll(job, tx, batch));
      if (isDeferred) await checkReferences(job, tx);
      if (job.options.dryRun) throw new DryRunEnd();
      await finish(job, tx, input, job.resumed);
    });
    return stored;
  } catch (error) {
    if (error instanceof DryRunEnd) return stored;
    const isUnknown = error instanceof OutcomeUnknownError;
    const state = isUnknown ? 'All lines are stored, or none.' : 'Nothing is stored: the import is undone.';
    const isTrialFull = job.options.dryRun && error instanceof DiskFullError;
    const advice = isTrialFull ? ' On SQLite a dry run needs space in TMPDIR.' : '';
    throw new Failure(`${(error as Error).message}\n${state}${advice}`, error);
  }
}

/**
 * Stores batch after batch, each with the progress of the import.
 * @returns how many records were stored by this run
 * @throws {Failure} with the state of the import and how to continue
 */
export async function storeInBatches(job: ImportJob, total?: number): Promise<number> {
  const { name, table } = job.store;
  const input = new ImportInput(job, reject);
  const started = job.resumed?.started ?? new Date().toISOString();
  let saved = job.resumed;
  /** Stores a batch; when the capacity is reached, as many of its records as fit. */
  const store = async (batch: readonly Entry[]): Promise<void> => {
    const { number: lines, digest } = batch.at(-1)!;
    const to = { resource: name.plural, lines, digest, ids: input.ids!, started };
    try {
      await transaction(table.dataSource, async (tx) => {
        await saveProgress(tx, saved, to);
        await createAll(job, tx, batch);
      });
      saved = to;
    } catch (error) {
      if (!(error instanceof StorageFullError)) throw error;
      if (batch.length === 1) {
        const holds = `the storage holds ${job.store.counter.capacity} ${name.pluralText}`;
        throw new Failure(`Line ${lines} cannot be stored: ${holds}, as many as ${job.resource.capacity.name} allows.`);
      }
      for (const entry of batch) await store([entry]);
    }
  };
  try {
    const stored = await storeEach(input, job, total, store);
    await transaction(table.dataSource, (tx) => finish(job, tx, input, saved));
    return stored;
  } catch (error) {
    throw new Failure(`${(error as Error).message}\n${stateOf(job, error, saved)}`, error);
  }
}

async function storeEach(
  input: ImportInput,
  { interrupt, resource }: ImportJob,
  total: number | undefined,
  store: (batch: readonly Entry[]) => Promise<void>,
): Promise<number> {
  const progress = progressOf('Imported', resource.name.pluralText);
  let stored = 0;
  for await (const batch of input.batches()) {
    interrupt.throwIfAborted();
    await store(batch);
    stored += batch.length;
    progress(stored, total);
  }
  return stored;
}

function stateOf({ file = 'the same input', resource }: ImportJob, error: unknown, saved?: UnfinishedImport): string {
  const next = `Go on with: import ${resource.name.plural} ${file} --resume`;
  if (error instanceof OutcomeUnknownError) {
    const otherwise = saved === undefined ? 'no line is stored' : 'all lines are stored';
    return `The last lines may be stored or not. ${next}\nIf there is nothing to resume, ${otherwise}. Change no line.`;
  }
  if (saved === undefined) return 'Nothing is stored.';
  return (
    `The first ${saved.lines} lines are stored. ${next}\n` +
    'You may correct later lines first; the stored ones must stay as they are.'
  );
}

/** Advances the id sequence beyond the ids of the old storage, deleted records included, and deletes the progress. */
async function finish({ store }: ImportJob, tx: Sql, { ids, lastId }: ImportInput, saved?: UnfinishedImport) {
  if (lastId !== undefined && (ids === undefined || ids === 'keep')) await store.in(tx).advanceIds(lastId);
  if (saved !== undefined) await deleteProgress(tx, saved.resource);
}

/** Stores a batch; an error names the rejected line. */
function createAll({ store }: ImportJob, tx: Sql, batch: readonly Entry[]): Promise<void> {
  const records = batch.map(({ record }) => record);
  return store.in(tx).createMany(records, (error, index) => {
    const { number, record } = batch[index]!;
    return reject(number, problemOf(error, record, store.table.dataSource.entityMetadatas));
  });
}

/** Describes the rule or constraint that a record violates; rethrows any other error. */
function problemOf(error: Error, record: Entry['record'], entities: EntityMetadata[]): string {
  if (error instanceof HttpException) return problemsIn(error);
  const violation = constraintViolation(error, entities);
  if (violation === undefined) throw error;
  const { kind, names, reason } = violation;
  const given = names.filter((name) => (record as Record<string, unknown>)[name] != null).map((name) => `"${name}"`);
  if (given.length > 0 && kind === 'unique') return `another record has the same ${given.join(' and ')}`;
  // SQLite does not tell which of several references it is.
  if (given.length > 0 && kind === 'foreign key') return `${given.join(' or ')} ${NO_RECORD}`;
  return reason;
}

const NO_RECORD = 'refers to a record that does not exist';

/** Names the line of a missing reference at the end, when later lines are stored. COMMIT would not name it. */
async function checkReferences(job: ImportJob, tx: Sql): Promise<void> {
  const { dataSource } = job.store.table;
  const { tableName, foreignKeys } = dataSource.getMetadata(await job.resource.entity());
  const sqlName = (name: string): string => dataSource.driver.escape(name);
  for (const { columns, referencedColumns, referencedEntityMetadata } of foreignKeys) {
    const column = sqlName(columns[0]!.databaseName);
    const [missing] = await tx.query<{ id: Id }[]>(
      `SELECT child.id FROM ${sqlName(tableName)} AS child
       LEFT JOIN ${sqlName(referencedEntityMetadata.tableName)} AS parent ON parent.${sqlName(referencedColumns[0]!.databaseName)} = child.${column}
       WHERE child.${column} IS NOT NULL AND parent.id IS NULL LIMIT 1`,
      [],
    );
    if (missing === undefined) continue;
    const name = columns[0]!.propertyName;
    for await (const batch of new ImportInput(job, reject).batches()) {
      const entry = batch.find(({ record }) => record.id === missing.id);
      if (entry !== undefined) reject(entry.number, `"${name}" ${NO_RECORD}`);
    }
  }
}
