import { type Database, openDatabase } from '../better-sqlite3.js';
import { sqliteCode } from '../sqlite-errors.js';

/** What a database file holds, and what is wrong with it. */
export interface FileReport {
  /** One line for each error; none when the file is sound, but for its counters. */
  readonly errors: string[];
  /** One line for each counter that does not agree with the records; counting them again mends it. */
  readonly drifts: string[];
  /** Names of the migrations it has had. */
  readonly migrations: string[];
  /** Records of each resource. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Lines of SQLite's report that are passed on; a corrupt file can have thousands. */
const MOST_FAULTS = 5;

/**
 * Looks at every page, constraint and counter of a database file, without changing it.
 * @param known names of the migrations that this code has
 * @param thoroughly also whether every index agrees with its table, which takes longer
 */
export function checkFile(path: string, known: readonly string[], { thoroughly = true } = {}): FileReport {
  const report = {
    errors: [] as string[],
    drifts: [] as string[],
    migrations: [] as string[],
    counts: new Map<string, number>(),
  };
  try {
    const database = openDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
    try {
      checkDatabase(database, known, thoroughly, report);
    } finally {
      database.close();
    }
  } catch (error) {
    report.errors.push(explain(error));
  }
  return report;
}

type Report = FileReport & { readonly counts: Map<string, number> };

function checkDatabase(database: Database, known: readonly string[], thoroughly: boolean, report: Report): void {
  const { errors, migrations, counts } = report;
  const column = (sql: string, ...values: unknown[]): unknown[] =>
    database
      .prepare(sql)
      .pluck()
      .all(...values);
  const pragma = thoroughly ? 'integrity_check' : 'quick_check';
  errors.push(
    ...column(`PRAGMA ${pragma}(${MOST_FAULTS})`)
      .filter((line) => line !== 'ok')
      .map(String),
  );
  if (errors.length > 0) return;

  const tables = new Set(column(`SELECT name FROM sqlite_schema WHERE type = 'table'`));
  const missing = ['migrations', 'storage', 'cookies'].filter((table) => !tables.has(table));
  if (missing.length > 0) {
    errors.push(`it is no database of this service: it has no table ${missing.join(', ')}`);
    return;
  }
  migrations.push(...(column('SELECT name FROM migrations ORDER BY timestamp') as string[]));
  const newer = migrations.filter((name) => !known.includes(name));
  if (newer.length > 0) errors.push(`it has the migrations ${newer.join(', ')} of a newer version`);
  if (!migrations.includes(known[0]!)) errors.push(`it lacks the migration ${known[0]}`);

  const accounts = database.prepare('SELECT resource, used FROM storage').all() as { resource: string; used: number }[];
  if (!accounts.some(({ resource }) => resource === 'cookies'))
    errors.push('its table "storage" has no row for cookies');
  for (const { resource, used } of accounts.filter(({ resource }) => tables.has(resource))) {
    const [count] = column(`SELECT count(*) FROM "${resource}"`) as number[];
    counts.set(resource, count!);
    if (count !== used) report.drifts.push(`it counts ${used} ${resource} and holds ${count}`);
  }
  const [behind] = column(
    `SELECT max(id) FROM cookies HAVING max(id) > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'cookies'), 0)`,
  ) as number[];
  if (behind !== undefined) errors.push(`its next id would be one that was given already (${behind} was)`);
}

function explain(error: unknown): string {
  const code = sqliteCode(error);
  if (code === 'SQLITE_NOTADB') return 'it is not a SQLite database';
  if (code.startsWith('SQLITE_CORRUPT')) return `it is corrupt (${(error as Error).message})`;
  return (error as Error).message;
}
