import { Failure } from '../errors.js';
import type { MissingReference } from '../../resource/store/references.js';
import type { IdsOption, ImportJob } from './import-job.js';
import { type Batch, ImportInput } from './import-input.js';
import type { OpenStorage } from '../resources/open-storage.js';
import { Progress } from '../output/progress.js';

/** Broken lines that are named; a file of another kind has nothing else. */
const MOST_NAMED = 20;

export interface Survey {
  /** Records that are still to be stored. */
  readonly records: number;
  readonly ids?: IdsOption;
  /** Places that are free for them. */
  readonly free: number;
}

/**
 * Reads all of an input and stores nothing.
 * @param storage what it would be stored in; absent when there is no database yet
 * @throws {Failure} naming every line that could not be stored, or that there are not enough places
 */
export async function survey(storage: OpenStorage | undefined, capacity: number, job: ImportJob): Promise<Survey> {
  const faults = new Faults();
  const { resource, resumed, options, interrupt } = job;
  const input = new ImportInput(job, { onBroken: faults.add, resumed, ids: options.ids ?? resumed?.ids });
  const progress = new Progress({ done: 'Checked', unit: 'lines' });
  let records = 0;
  for await (const batch of input.batches(job.open())) {
    interrupt.throwIfAborted();
    for (const { line, problem } of storage === undefined ? [] : await problemsOf(storage, batch))
      faults.add(line, problem);
    records += batch.entries.length;
    progress.update(batch.lastLine);
  }
  faults.throwIfAny();
  const free = Math.max(0, capacity - ((await storage?.store.usage())?.count ?? 0));
  if (records > free) {
    throw new Failure(
      `There is not enough room: ${records} ${resource.name.pluralText} are to be stored, and ${free} of ${capacity} places are free. ` +
        `Raise ${resource.capacity.name}, or delete some. Nothing was stored by this run.`,
    );
  }
  return { records, ids: input.ids, free };
}

/** Which lines of a batch the storage would reject as it is: their id is taken, or what they refer to does not exist. */
export async function problemsOf({ store }: OpenStorage, batch: Batch): Promise<LineProblem[]> {
  const existing = new Set(batch.ids.length > 0 ? await store.existing(batch.ids) : []);
  const missing = await store.references.missing(batch.entries.map(({ record }) => record));
  return batch.entries.flatMap(({ number: line, record: { id } }, index) => {
    if (id !== undefined && existing.has(id)) return [{ line, problem: idExists(id) }];
    const reference = missing[index];
    return reference === undefined ? [] : [{ line, problem: namesNothing(reference) }];
  });
}

export interface LineProblem {
  readonly line: number;
  readonly problem: string;
}

function idExists(id: number): string {
  return `its id ${id} exists in the storage already; leave the line out, or use --ids assign`;
}

function namesNothing({ property, value, table }: MissingReference): string {
  return `"${property}" names the record ${value} of ${table}, which does not exist; import ${table} first`;
}

/** How a broken line is named. */
export function brokenLine(line: number, fault: string): string {
  return `Line ${line} is wrong: ${fault}.`;
}

class Faults {
  private readonly named: { readonly line: number; readonly fault: string }[] = [];
  private count = 0;

  readonly add = (line: number, fault: string): void => {
    if (this.count++ < MOST_NAMED) this.named.push({ line, fault });
  };

  throwIfAny(): void {
    if (this.count === 0) return;
    const more = this.count > MOST_NAMED ? [`... and ${this.count - MOST_NAMED} more lines.`] : [];
    // Ids that are taken are only known behind what is wrong with the lines themselves.
    const named = this.named.sort((a, b) => a.line - b.line).map(({ line, fault }) => brokenLine(line, fault));
    throw new Failure([...named, ...more, 'Nothing was stored by this run.'].join('\n'));
  }
}
