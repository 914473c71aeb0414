import { Command, Option } from 'commander';
import { type Config, loadConfigFromProcess } from '../config/config.js';
import { committed, transaction } from '../database/transactions.js';
import { ImportProgress, type UnfinishedImport } from '../storage/import-progress.js';
import { contentsOf } from './checksum.js';
import { Failure, UsageError } from './errors.js';
import { examples } from './examples.js';
import type { IdsOption } from './import-input.js';
import { openInput } from './input.js';
import { storeAtOnce, storeInBatches } from './import-store.js';
import { survey } from './import-survey.js';
import { databaseExists, openStorage, type OpenStorage } from './open-database.js';

export interface ImportOptions {
  readonly ids?: IdsOption;
  readonly dryRun?: true;
  readonly atomic?: true;
  readonly resume?: true;
  readonly forget?: true;
}

/** What the parts of an import work with. */
export interface ImportJob {
  readonly options: ImportOptions;
  readonly interrupt: AbortSignal;
  /** Opens the input; from its beginning each time, when it is a file. */
  readonly open: () => AsyncIterable<Buffer>;
  /** The file, when there is one: stdin can be read only once. */
  readonly file?: string;
  /** The import that is gone on with. */
  readonly resumed?: UnfinishedImport;
}

export function importCommand(interrupt: AbortSignal): Command {
  return new Command('import')
    .description(
      'store the cookies of an NDJSON file (or .gz), or of stdin; every line must be valid as a POST would be',
    )
    .argument('[file]', 'what to read (default: stdin)')
    .addOption(
      new Option(
        '--ids <how>',
        'keep the ids, or assign new ones (default: keep those of lines that have them)',
      ).choices(['keep', 'assign']),
    )
    .option('--dry-run', 'check everything and store nothing')
    .addOption(
      new Option('--atomic', 'store all or nothing, in one transaction; the service cannot write meanwhile').conflicts(
        'resume',
      ),
    )
    .addOption(new Option('--resume', 'go on with the import that was interrupted').conflicts(['forget', 'dryRun']))
    .option('--forget', 'begin anew though an import was interrupted; what that one has stored stays')
    .addHelpText('after', `\n${NOTE}${examples(...EXAMPLES)}`)
    .action((file: string | undefined, options: ImportOptions) => importCookies(file, options, interrupt));
}

const NOTE = `A file is checked as a whole before anything is stored; stdin is checked as it comes. Lines are stored in batches, and
each notes how far it has got: what is interrupted goes on with --resume and the same input, nothing lost, nothing
twice. The service may serve meanwhile. Never more than COOKIES_CAPACITY cookies are stored.
`;
const EXAMPLES = [
  'import cookies.ndjson --dry-run',
  'import cookies.ndjson',
  'import cookies.ndjson --resume',
  'import cookies.ndjson.gz',
  'import --ids assign < cookies.ndjson',
];

async function importCookies(file: string | undefined, options: ImportOptions, interrupt: AbortSignal): Promise<void> {
  if (options.atomic && file === undefined) {
    throw new UsageError('--atomic needs a file: it is read twice, first to check it, and stdin cannot be');
  }
  const config = loadConfigFromProcess();
  const job: ImportJob = { options, interrupt, file, open: () => openInput(file, interrupt) };
  if (options.dryRun) return dryRun(config, job);
  const storage = await openStorage(config, { mayMigrate: true });
  try {
    await run(storage, { ...job, resumed: await unfinished(storage, options) });
    console.error(`The storage holds ${await contentsOf(storage.cookies)}`);
  } finally {
    await storage.close();
  }
}

async function run(storage: OpenStorage, job: ImportJob): Promise<void> {
  const { capacity } = storage.storage;
  const { used } = await storage.cookies.account();
  console.error(`${Math.max(0, capacity - used)} of ${capacity} places are free.`);
  const total = job.file === undefined ? undefined : (await survey(storage, capacity, job)).cookies;
  const stored = await (job.options.atomic ? storeAtOnce : storeInBatches)(storage, job, total);
  console.error(`Imported ${stored} cookies.`);
}

/** The import to go on with, by what the options say about one that was interrupted. */
async function unfinished(
  { dataSource }: OpenStorage,
  { resume, forget, ids }: ImportOptions,
): Promise<UnfinishedImport | undefined> {
  const progress = new ImportProgress('cookies');
  const found = await progress.find(committed(dataSource));
  if (resume) {
    if (found === undefined) throw new Failure('There is nothing to resume: no import was interrupted.');
    if (ids !== undefined && ids !== found.ids) throw new UsageError(`The import was begun with --ids ${found.ids}`);
    return found;
  }
  if (found === undefined) return undefined;
  if (!forget) {
    throw new Failure(
      `An import that began at ${found.started} is going on, or was interrupted when ${found.lines} lines were stored. ` +
        'Go on with the same input and --resume, or begin anew with --forget: what that one has stored stays.',
    );
  }
  await transaction(dataSource, (tx) => progress.forget(tx));
  return undefined;
}

async function dryRun(config: Config, job: ImportJob): Promise<void> {
  const storage = databaseExists(config) ? await openStorage(config, { mayMigrate: false }) : undefined;
  try {
    const { cookies, ids, free } = await survey(storage, config.cookiesCapacity, job);
    const outcome = ids === 'keep' ? 'with the ids they have' : 'with new ids';
    console.error(
      `All is well: ${cookies} cookies can be imported ${outcome}; ${free} places are free. Nothing is stored.`,
    );
  } finally {
    await storage?.close();
  }
}
