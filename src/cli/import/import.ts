import { getMetadataArgsStorage } from 'typeorm';
import { Config, loadConfigFromProcess } from '../../config/config.js';
import { MIGRATE } from '../../config/program-names.js';
import { committed, transaction } from '../../database/engine.js';
import { SETTINGS } from '../../features.js';
import type { Resource } from '../../resource/resource.js';
import { ownReferences } from '../../resource/store/references.js';
import { Failure, UsageError } from '../command-errors.js';
import { isRepeatable, openInput } from '../input.js';
import { LineSummary } from '../output/write-lines.js';
import { largestIdFor } from '../resources/resources.js';
import { openStorage, type OpenStorage } from '../resources/open-storage.js';
import { recordReader } from '../resources/record-lines.js';
import { databaseExists } from '../sqlite-file/database-path.js';
import type { ImportJob, ImportOptions } from './import-input.js';
import { deleteProgress, findUnfinishedImport } from './import-progress.js';
import { storeAtomically, storeInBatches } from './import-store.js';
import { validateInput } from './import-validation.js';
import type { UnfinishedImport } from './import.entity.js';

/** Milliseconds for the COMMIT that checks all references of a resource to itself. */
const COMMIT_TIMEOUT = 3600 * 1000;

export async function importRecords(
  resource: Resource,
  file: string | undefined,
  options: ImportOptions,
  interrupt: () => AbortSignal,
): Promise<void> {
  const isFile = file !== undefined && (await isRepeatable(file));
  const own = ownReferences(await resource.entity());
  if ((options.atomic || own.length > 0) && !isFile) {
    const reason = own.length > 0 ? `"${own.join('", "')}" may name a later line, so the import` : '--atomic';
    throw new UsageError(`${reason} needs a file: a pipe or stdin cannot be read twice, first for the check`);
  }
  const settings = loadConfigFromProcess(SETTINGS);
  const database = { ...settings.database, ...(own.length > 0 && { statementTimeout: COMMIT_TIMEOUT }) };
  const config = new Config({ ...settings, database });
  const job: ImportJob = {
    resource,
    read: await recordReader(resource),
    options,
    ownReferences: own,
    // The first read of this property comes when the database is open.
    get interrupt() {
      return interrupt();
    },
    file: isFile ? file : undefined,
    open: () => openInput(file, interrupt()),
    largestId: largestIdFor(config.get(resource.capacity)),
  };
  if (options.dryRun) return dryRun(config, job);
  await using storage = await openStorage(config, resource, true);
  await run(storage, { ...job, resumed: await unfinished(storage, options) });
  console.error(`The storage holds ${await contentsOf(storage)}`);
}

async function run(storage: OpenStorage, job: ImportJob): Promise<void> {
  const { capacity } = storage.store.counter;
  const { count } = await storage.store.usage();
  console.error(`${Math.max(0, capacity - count)} of ${capacity} places are free.`);
  const total = job.file === undefined ? undefined : (await validateInput(storage, capacity, job)).records;
  const store = job.options.atomic || job.ownReferences.length > 0 ? storeAtomically : storeInBatches;
  const stored = await store(storage, job, total);
  console.error(`Imported ${job.resource.name.counted(stored)}.`);
}

/** Count and checksum of all records, as `export` prints them. */
async function contentsOf({ store, resource }: OpenStorage): Promise<string> {
  using snapshot = await store.openSnapshot();
  const summary = new LineSummary();
  for await (const page of snapshot.records({})) summary.add(page);
  return `${resource.name.counted(summary.count)}, sha256 ${summary.digest()}`;
}

/** The unfinished import to resume, according to the options. */
async function unfinished(
  { dataSource, resource }: OpenStorage,
  { resume, forget, ids }: ImportOptions,
): Promise<UnfinishedImport | undefined> {
  const found = await findUnfinishedImport(committed(dataSource), resource.name.plural);
  if (resume) {
    if (found === undefined) throw new Failure('There is nothing to resume: no import was interrupted.');
    if (ids !== undefined && ids !== found.ids) throw new UsageError(`The import was begun with --ids ${found.ids}`);
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

async function dryRun(config: Config, job: ImportJob): Promise<void> {
  const { resource } = job;
  await using storage = databaseExists(config) ? await openStorage(config, resource) : undefined;
  if (storage === undefined) await rejectReferences(resource);
  const capacity = storage?.store.counter.capacity ?? config.get(resource.capacity);
  const { records, ids, free } = await validateInput(storage, capacity, job);
  const outcome = ids === 'keep' ? 'with the ids they have' : 'with new ids';
  console.error(
    `The input is valid: ${resource.name.counted(records)} can be imported ${outcome}; ${free} places are free. Nothing is stored.`,
  );
}

/**
 * Rejects records that refer to others: without a database, no record exists.
 * @throws {Failure}
 */
async function rejectReferences({ name, entity }: Resource): Promise<void> {
  const target = await entity();
  if (!getMetadataArgsStorage().foreignKeys.some((key) => key.target === target)) return;
  throw new Failure(
    `There is no database yet, and ${name.pluralText} refer to records. Import those first, or run ${MIGRATE}; --dry-run makes no database.`,
  );
}
