import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getMetadataArgsStorage } from 'typeorm';
import { type Config, loadConfigFromProcess } from '../../config/config.js';
import { PLATFORM_SETTINGS } from '../../config/platform-settings.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { committed, transaction } from '../../database/engine.js';
import { SETTINGS } from '../../features.js';
import type { RecordClass, Resource } from '../../resource/resource.js';
import { Failure, UsageError } from '../command-errors.js';
import { isRepeatable, openInput, requireReadable } from '../input.js';
import { progressOf } from '../output/progress.js';
import { LineSummary } from '../output/write-lines.js';
import { openRepository, type OpenRepository } from '../resources/open-storage.js';
import { recordReader } from '../resources/record-lines.js';
import { copyDatabase } from '../sqlite-file/copy-database.js';
import { atPath } from '../sqlite-file/database-path.js';
import { draftFolder } from '../sqlite-file/draft-folder.js';
import { brokenLine, ImportInput, type ImportJob, type ImportOptions } from './import-input.js';
import { deleteProgress, findUnfinishedImport, type UnfinishedImport } from './import-progress.js';
import { storeAtomically, storeInBatches } from './import-store.js';

/** Milliseconds for the COMMIT that checks all references of a resource to itself. */
const COMMIT_TIMEOUT = 3600 * 1000;

/** Maximum number of invalid lines that are printed. */
const MOST_NAMED = 20;

export async function importRecords(
  resource: Resource,
  file: string | undefined,
  options: ImportOptions,
  interrupt: () => AbortSignal,
): Promise<void> {
  const isFile = file !== undefined && (await isRepeatable(file));
  const own = ownReferences(await resource.entity());
  const isOneTransaction = options.atomic || options.dryRun || own.length > 0;
  if (isOneTransaction && !isFile) {
    const option = options.atomic ? '--atomic' : '--dry-run';
    const reason = own.length > 0 ? `"${own.join('", "')}" may name a later line, so the import` : option;
    throw new UsageError(`${reason} needs a file: a pipe or stdin cannot be read twice, first for the check`);
  }
  await requireReadable(file);
  const settings = loadConfigFromProcess(SETTINGS);
  const { statementTimeout } = PLATFORM_SETTINGS.database;
  const configured = own.length > 0 ? settings.with(statementTimeout, COMMIT_TIMEOUT) : settings;
  const isTrial = options.dryRun && settings.database.url.engine === 'sqlite';
  await using trial = isTrial ? await trialFolder() : undefined;
  const config = trial === undefined ? configured : await trialIn(trial.path, configured, interrupt());
  await using store = await openRepository(config, resource, trial !== undefined || !options.dryRun);
  const { capacity } = store.counter;
  const free = Math.max(0, capacity - (await store.usage()).count);
  console.error(`${free} of ${capacity} places are free.`);
  const job: ImportJob = {
    resource,
    store,
    read: await recordReader(resource),
    options,
    ownReferences: own,
    interrupt: interrupt(),
    file: isFile ? file : undefined,
    open: () => openInput(file, interrupt()),
    resumed: options.dryRun ? undefined : await unfinished(store, options),
  };
  const total = isFile ? await checkLines(job, free, capacity) : undefined;
  const stored = await (isOneTransaction ? storeAtomically : storeInBatches)(job, total);
  if (options.dryRun) {
    console.error(`The input is valid: ${resource.name.counted(stored)} can be imported. Nothing is stored.`);
    return;
  }
  console.error(`Imported ${resource.name.counted(stored)}.`);
  console.error(`The storage holds ${await contentsOf(store)}`);
}

function trialFolder(): ReturnType<typeof draftFolder> {
  return draftFolder(join(tmpdir(), `${SERVICE_NAME}-dry-run-`)).catch((error: Error) => {
    throw new Failure(`A dry run needs a folder for temporary files (TMPDIR): ${error.message}.`, error);
  });
}

/** The configuration with a copy of the SQLite database, if there is one: the service can write during a dry run. */
async function trialIn(folder: string, config: Config, interrupt: AbortSignal): Promise<Config> {
  const { url } = config.database;
  const trial = join(folder, 'trial.sqlite');
  try {
    if (url.engine === 'sqlite' && existsSync(url.path)) await copyDatabase(url.path, trial, interrupt);
    return atPath(config, trial);
  } catch (error) {
    interrupt.throwIfAborted();
    throw new Failure(`The database cannot be copied to ${folder} (see TMPDIR): ${(error as Error).message}.`, error);
  }
}

function ownReferences(entity: RecordClass): string[] {
  return getMetadataArgsStorage()
    .foreignKeys.filter(({ target, type }) => target === entity && type === entity.name)
    .map(({ propertyName }) => propertyName!);
}

/** Checks each line of a file before the first is stored, and that they fit. It returns the number of records. */
async function checkLines(job: ImportJob, free: number, capacity: number): Promise<number> {
  const { resource, interrupt } = job;
  const problems: string[] = [];
  let broken = 0;
  const input = new ImportInput(job, (line, problem) => {
    broken++;
    if (broken <= MOST_NAMED) problems.push(brokenLine(line, problem));
  });
  const progress = progressOf('Checked', 'lines');
  let records = 0;
  for await (const batch of input.batches()) {
    interrupt.throwIfAborted();
    records += batch.length;
    progress(batch.at(-1)!.number);
  }
  if (broken > MOST_NAMED) problems.push(`... and ${broken - MOST_NAMED} more lines.`);
  if (broken > 0) throw new Failure([...problems, 'Nothing was stored by this run.'].join('\n'));
  if (records <= free) return records;
  throw new Failure(
    `There is not enough room: ${records} ${resource.name.pluralText} are to be stored, and ${free} of ${capacity} places are free. ` +
      `Raise ${resource.capacity.name}, or delete some records. Nothing was stored by this run.`,
  );
}

/** Count and checksum of all records, as `export` prints them. */
async function contentsOf(store: OpenRepository): Promise<string> {
  using snapshot = await store.openSnapshot();
  const summary = new LineSummary();
  for await (const page of snapshot.records({ order: 'ascending' })) summary.add(page);
  return `${store.name.counted(summary.count)}, sha256 ${summary.digest()}`;
}

async function unfinished(
  { name, table: { dataSource } }: OpenRepository,
  { resume, forget, ids }: ImportOptions,
): Promise<UnfinishedImport | undefined> {
  const found = await findUnfinishedImport(committed(dataSource), name.plural);
  if (resume) {
    if (found === undefined) throw new Failure('There is nothing to resume: no import was interrupted.');
    const begun = found.ids === 'none' ? 'assign' : found.ids;
    if (ids !== undefined && ids !== begun) throw new UsageError(`The import was begun with --ids ${begun}`);
    return found;
  }
  if (found === undefined) return undefined;
  if (!forget) {
    throw new Failure(
      `An import that began at ${found.started} is going on, or was interrupted when ${found.lines} lines were stored. ` +
        'Go on with the same input and --resume, or start again with --forget: the stored lines stay.',
    );
  }
  await transaction(dataSource, (tx) => deleteProgress(tx, found.resource));
  return undefined;
}
