import { existingValues, missingReferences } from '../../resource/store/references.js';
import { Failure } from '../command-errors.js';
import { Progress } from '../output/progress.js';
import type { OpenStorage } from '../resources/open-storage.js';
import { type Entry, type IdsOption, ImportInput, type ImportJob, type LineProblem } from './import-input.js';
import { UniqueValues } from './unique-values.js';

/** Maximum number of invalid lines that are printed. */
const MOST_NAMED = 20;

interface ValidatedInput {
  /** Number of records to store. */
  readonly records: number;
  readonly ids?: IdsOption;
  /** Free capacity in records. */
  readonly free: number;
}

/**
 * Validates the whole input without storing it.
 * @param storage that would get the records; absent when there is no database yet
 * @throws {Failure} with each line that could not be stored, or when the storage has too few free places
 */
export async function validateInput(
  storage: OpenStorage | undefined,
  capacity: number,
  job: ImportJob,
): Promise<ValidatedInput> {
  const problems = new LineProblems();
  const { resource, interrupt } = job;
  const input = new ImportInput(job, (line, problem) => problems.add({ line, problem }));
  using progress = new Progress('Checked', 'lines');
  const unique = storage && new UniqueValues(storage);
  const unresolved: LineProblem[] = [];
  let records = 0;
  for await (const batch of input.batches()) {
    interrupt.throwIfAborted();
    if (storage !== undefined) {
      for (const found of await problemsOf(storage, batch, unique!)) {
        if (found.unlessImported === undefined) problems.add(found);
        else if (!input.seen.has(found.unlessImported)) unresolved.push(found);
      }
    }
    records += batch.length;
    progress.update(batch.at(-1)!.number);
  }
  for (const found of unresolved) if (!input.seen.has(found.unlessImported!)) problems.add(found);
  problems.throwIfAny();
  const free = Math.max(0, capacity - ((await storage?.store.usage())?.count ?? 0));
  if (records > free) {
    throw new Failure(
      `There is not enough room: ${records} ${resource.name.pluralText} are to be stored, and ${free} of ${capacity} places are free. ` +
        `Raise ${resource.capacity.name}, or delete some records. Nothing was stored by this run.`,
    );
  }
  return { records, ids: input.ids, free };
}

/** Finds the lines that the database would reject: duplicate ids or unique values, and missing references. */
export async function problemsOf(
  { dataSource, repository }: OpenStorage,
  batch: readonly Entry[],
  unique: UniqueValues,
): Promise<LineProblem[]> {
  const { tableName } = repository.metadata;
  const records = batch.map(({ record }) => record);
  const ids = records.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const existing = await existingValues(dataSource, tableName, 'id', ids);
  const missing = await missingReferences(repository, records);
  const taken = await unique.problemsOf(batch);
  const repeated = batch.flatMap(({ number: line, record: { id } }) =>
    id !== undefined && existing.has(String(id))
      ? [{ line, problem: `its id ${id} exists in the storage already; leave the line out, or use --ids assign` }]
      : [],
  );
  const unknown = missing.map(({ index, property, value, table }) => ({
    line: batch[index]!.number,
    problem: `"${property}" names the record ${value} of ${table}, which does not exist; import ${table} first`,
    unlessImported: table === tableName ? value : undefined,
  }));
  return [...repeated, ...unknown, ...taken].sort((one, other) => one.line - other.line);
}

export function brokenLine(line: number, problem: string): string {
  return `Line ${line} is wrong: ${problem}.`;
}

class LineProblems {
  private readonly named: LineProblem[] = [];
  private count = 0;

  add(found: LineProblem): void {
    this.count++;
    if (this.count <= MOST_NAMED) this.named.push(found);
  }

  throwIfAny(): void {
    if (this.count === 0) return;
    // Sorted, because the database reports problems of a line after the problems of later lines.
    const lines = this.named.sort((a, b) => a.line - b.line).map(({ line, problem }) => brokenLine(line, problem));
    if (this.count > MOST_NAMED) lines.push(`... and ${this.count - MOST_NAMED} more lines.`);
    throw new Failure([...lines, 'Nothing was stored by this run.'].join('\n'));
  }
}
