import { type Database, openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { sqliteCode } from '../../database/sqlite/sqlite-errors.js';

/** The contents and the errors of a database file. */
export interface FileReport {
  /** One line for each error other than a wrong counter. */
  readonly errors: string[];
  /** One line for each counter that differs from the number of records. A recount corrects it. */
  readonly drifts: string[];
  /** Names of the executed migrations. */
  readonly migrations: string[];
  /** Records of each resource. */
  readonly counts: ReadonlyMap<string, number>;
}

const READ_ONLY = { readonly: true, fileMustExist: true, timeout: 5000 } as const;

/** Maximum number of lines of SQLite's report to print; a corrupt file can have thousands. */
const MOST_FAULTS = 5;

/** The expected contents of a database of this version. */
export interface ExpectedContents {
  /** Names of the migrations, oldest first. */
  readonly migrations: readonly string[];
  /** Names of the resources. Each has a table, and a row in `storage`. */
  readonly resources: readonly string[];
  /** The largest allowed id by resource. */
  readonly largestIds?: ReadonlyMap<string, number>;
}

/**
 * Checks every page, constraint and counter of a database file, without changing it.
 * @param thoroughly whether to compare every index with its table, which takes longer
 */
export function checkFile(path: string, expected: ExpectedContents, { thoroughly = true } = {}): FileReport {
  const report = {
    errors: [] as string[],
    drifts: [] as string[],
    migrations: [] as string[],
    counts: new Map<string, number>(),
  };
  try {
    using database = openDatabase(path, READ_ONLY);
    checkDatabase(database, expected, thoroughly, report);
  } catch (error) {
    report.errors.push(explain(error));
  }
  return report;
}

type Report = FileReport & { readonly counts: Map<string, number> };

function checkDatabase(database: Database, expected: ExpectedContents, thoroughly: boolean, report: Report): void {
  const { errors, migrations } = report;
  const column: ReadColumn = (sql, ...values) =>
    database
      .prepare(sql)
      .pluck()
      .all(...values);
  const [encoding] = column('PRAGMA encoding');
  if (encoding !== 'UTF-8') errors.push(`its text is in ${String(encoding)}, and must be in UTF-8`);
  const pragma = thoroughly ? 'integrity_check' : 'quick_check';
  errors.push(
    ...column(`PRAGMA ${pragma}(${MOST_FAULTS})`)
      .filter((line) => line !== 'ok')
      .map(String),
  );
  if (errors.length > 0) return;

  const tables = new Set(column(`SELECT name FROM sqlite_schema WHERE type = 'table'`) as string[]);
  const isOurs = tables.has('migrations') && tables.has('storage');
  if (isOurs) migrations.push(...(column('SELECT name FROM migrations ORDER BY timestamp') as string[]));
  const usages = isOurs ? (database.prepare('SELECT resource, used FROM storage').all() as Usage[]) : [];
  const counted = new Set(usages.map(({ resource }) => resource));
  // A pending migration may create the table of the resource.
  const isComplete = !isOurs || expected.migrations.every((name) => migrations.includes(name));
  const due = expected.resources.filter((name) => isComplete || counted.has(name));
  const missing = ['migrations', 'storage', ...due].filter((table) => !tables.has(table));
  if (missing.length > 0) {
    errors.push(`it is no database of this service: it has no table ${missing.join(', ')}`);
    return;
  }
  errors.push(...migrationErrors(migrations, expected.migrations));
  checkCounters(usages, tables, column, report);
  for (const resource of expected.resources.filter((name) => tables.has(name))) {
    if (!counted.has(resource)) errors.push(`its table "storage" has no row for ${resource}`);
    errors.push(...sequenceErrors(resource, column), ...numberErrors(resource, column));
    const most = expected.largestIds?.get(resource) ?? Number.MAX_SAFE_INTEGER;
    const [beyond] = column(
      'SELECT seq FROM sqlite_sequence WHERE name = ? AND NOT (seq BETWEEN 0 AND ?)',
      resource,
      most,
    ) as (number | string | undefined)[];
    if (beyond !== undefined) errors.push(`the last id of ${resource} is ${beyond}, and must be from 0 to ${most}`);
  }
}

interface Usage {
  readonly resource: string;
  readonly used: number;
}

type ReadColumn = (sql: string, ...values: unknown[]) => unknown[];

function migrationErrors(migrations: readonly string[], known: readonly string[]): string[] {
  const errors: string[] = [];
  const newer = migrations.filter((name) => !known.includes(name));
  if (newer.length > 0) errors.push(`it has the migrations ${newer.join(', ')} of a newer version`);
  if (!migrations.includes(known[0]!)) errors.push(`it lacks the migration ${known[0]}`);
  return errors;
}

function checkCounters(
  usages: readonly Usage[],
  tables: ReadonlySet<string>,
  column: ReadColumn,
  { counts, drifts }: Report,
): void {
  for (const { resource, used } of usages.filter((usage) => tables.has(usage.resource))) {
    const [count] = column(`SELECT count(*) FROM "${resource}"`) as number[];
    counts.set(resource, count!);
    if (count !== used) drifts.push(`it counts ${used} ${resource} and holds ${count}`);
  }
}

/** Checks that the next id is larger than all used ids. */
function sequenceErrors(resource: string, column: ReadColumn): string[] {
  const [behind] = column(
    `SELECT max(id) FROM "${resource}"
     HAVING typeof(max(id)) = 'integer' AND max(id) > coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)`,
    resource,
  ) as number[];
  if (behind === undefined) return [];
  return [`the next id of ${resource} would repeat an old one: ${behind} was used before`];
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
