import { Failure } from './errors.js';
import type { ImportJob } from './import.js';
import { ImportInput, type IdsOption } from './import-input.js';
import type { OpenStorage } from './open-database.js';
import { Progress } from './output/progress.js';

/** Broken lines that are named; a file of another kind has nothing else. */
const MOST_NAMED = 20;

export interface Survey {
  /** Cookies that are still to be stored. */
  readonly cookies: number;
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
  const { resumed, options, interrupt } = job;
  const input = new ImportInput({ onBroken: faults.add, resumed, ids: options.ids ?? resumed?.ids });
  const progress = new Progress({ done: 'Checked', unit: 'lines' });
  let cookies = 0;
  for await (const batch of input.batches(job.open())) {
    interrupt.throwIfAborted();
    const existing = new Set(batch.ids.length > 0 ? await storage?.cookies.existing(batch.ids) : []);
    for (const { number, cookie } of batch.entries) {
      if (existing.has(cookie.id!)) faults.add(number, idExists(cookie.id!));
    }
    cookies += batch.entries.length;
    progress.update(batch.lastLine);
  }
  faults.throwIfAny();
  const free = Math.max(0, capacity - ((await storage?.cookies.usage())?.count ?? 0));
  if (cookies > free) {
    throw new Failure(
      `There is not enough room: ${cookies} cookies are to be stored, and ${free} of ${capacity} places are free. ` +
        'Raise COOKIES_CAPACITY, or delete some. Nothing was stored by this run.',
    );
  }
  return { cookies, ids: input.ids, free };
}

/** What is wrong with a line whose id is taken. */
export function idExists(id: number): string {
  return `its id ${id} exists in the storage already; leave the line out, or use --ids assign`;
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
