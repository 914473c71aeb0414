import { knownMigrations } from '../../database/data-source.js';
import { DatabaseStartError } from '../../database/errors.js';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { sqliteCode } from '../../database/sqlite/sqlite-errors.js';
import { LARGEST_ID, NAMES } from '../resources/resources.js';

export interface FileReport {
  /** One line for each error other than a wrong counter. */
  readonly errors: string[];
  /** One line for each counter that differs from the number of records. A recount corrects it. */
  readonly drifts: string[];
  /** Names of the executed migrations, and of those that the next start will run. */
  readonly migrations: string[];
  readonly pending: string[];
  readonly counts: Map<string, number>;
  /** Whether it has no table, index, trigger or view, as before the first start. */
  isEmpty: boolean;
}

/** Maximum number of lines of SQLite's report to print; a corrupt file can have thousands. */
const MOST_FAULTS = 5;

type ReadColumn = (sql: string, ...values: unknown[]) => unknown[];

/**
 * Checks every page, constraint and counter of a database file, without changing it.
 * @param thoroughly whether to compare every index with its table, which takes longer
 */
export async function checkFile(path: string, thoroughly = true): Promise<FileReport> {
  const report: FileReport = { errors: [], drifts: [], migrations: [], pending: [], counts: new Map(), isEmpty: false };
  const known = await knownMigrations();
  try {
    using database = openDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
    const column: ReadColumn = (sql, ...values) => {
      const statement = database.prepare(sql).pluck();
      return statement.all(...values);
    };
    const [encoding] = column('PRAGMA encoding');
    if (encoding !== 'UTF-8') report.errors.push(`its text is in ${String(encoding)}, and must be in UTF-8`);
    const faults = column(`PRAGMA ${thoroughly ? 'integrity_check' : 'quick_check'}(${MOST_FAULTS})`);
    report.errors.push(...faults.filter((line) => line !== 'ok').map(String));
    if (report.errors.length === 0) checkContents(column, known, report);
  } catch (error) {
    // This error has a remedy of its own: better-sqlite3 does not load.
    if (error instanceof DatabaseStartError) throw error;
    report.errors.push(explain(error));
  }
  return report;
}

function checkContents(column: ReadColumn, known: readonly string[], report: FileReport): void {
  const { errors, drifts, migrations, pending, counts } = report;
  const tables = new Set(column(`SELECT name FROM sqlite_schema WHERE type = 'table'`) as string[]);
  report.isEmpty = column('SELECT 1 FROM sqlite_schema LIMIT 1').length === 0;
  const isOurs = tables.has('migrations') && tables.has('storage');
  if (isOurs) migrations.push(...(column('SELECT name FROM migrations ORDER BY timestamp') as string[]));
  pending.push(...known.filter((name) => !migrations.includes(name)));
  const counted = new Set((isOurs ? column('SELECT resource FROM storage') : []) as string[]);
  // A pending migration may create the table of the resource.
  const isComplete = !isOurs || pending.length === 0;
  const due = NAMES.filter((name) => isComplete || counted.has(name));
  const missing = ['migrations', 'storage', ...due].filter((table) => !tables.has(table));
  if (missing.length > 0) {
    errors.push(`it is no database of this service: it has no table ${missing.join(', ')}`);
    return;
  }
  const [first] = known;
  const newer = migrations.filter((name) => !known.includes(name));
  if (newer.length > 0) errors.push(`it has the migrations ${newer.join(', ')} of a newer version`);
  if (!migrations.includes(first!)) errors.push(`it lacks the migration ${first}`);
  for (const resource of [...counted].filter((name) => tables.has(name))) {
    const [count] = column(`SELECT count(*) FROM "${resource}"`) as number[];
    const [used] = column('SELECT used FROM storage WHERE resource = ?', resource) as number[];
    counts.set(resource, count!);
    if (count !== used) drifts.push(`it counts ${used} ${resource} and holds ${count}`);
  }
  for (const name of NAMES.filter((each) => tables.has(each))) {
    if (!counted.has(name)) errors.push(`its table "storage" has no row for ${name}`);
    errors.push(...sequenceErrors(name, column), ...numberErrors(name, column));
  }
}

/** Checks that the next id is larger than all used ids, and that enough ids are left. */
function sequenceErrors(resource: string, column: ReadColumn): string[] {
  const behind = column(
    `SELECT max(id) FROM "${resource}"
     HAVING typeof(max(id)) = 'integer' AND max(id) > coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)`,
    resource,
  ) as number[];
  const beyond = column(
    'SELECT seq FROM sqlite_sequence WHERE name = ? AND NOT (seq BETWEEN 0 AND ?)',
    resource,
    LARGEST_ID,
  ) as (number | string)[];
  return [
    ...behind.map((id) => `the next id of ${resource} would repeat an old one: ${id} was used before`),
    ...beyond.map((id) => `the last id of ${resource} is ${id}, and must be from 0 to ${LARGEST_ID}`),
  ];
}

/** Checks that ids are texts or positive, and that revisions are integers up to the revision of the resource. */
function numberErrors(resource: string, column: ReadColumn): string[] {
  const [wrong] = column(
    `SELECT count(*) FROM "${resource}" AS record, storage WHERE storage.resource = ? AND NOT
       ((typeof(record.id) = 'text' OR record.id >= 1) AND typeof(record.revision) = 'integer' AND record.revision BETWEEN 0 AND storage.revision)`,
    resource,
  ) as number[];
  const [usable] = column(
    `SELECT count(*) FROM storage WHERE resource = ? AND typeof(revision) = 'integer' AND revision BETWEEN 0 AND ?`,
    resource,
    Number.MAX_SAFE_INTEGER / 2,
  ) as number[];
  if (usable === 0) return [`the revision of ${resource} in "storage" is not one that the service assigns`];
  return wrong === 0 ? [] : [`${wrong} ${resource} have an id or a revision that the service has not assigned`];
}

function explain(error: unknown): string {
  const code = sqliteCode(error);
  if (code === 'SQLITE_NOTADB') return 'it is not a SQLite database';
  if (code.startsWith('SQLITE_CORRUPT')) return `it is corrupt (${(error as Error).message})`;
  return (error as Error).message;
}
