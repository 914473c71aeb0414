import type { Config } from '../../config/config.js';
import { migrate } from '../../database/schema/migrations.js';
import { openDatabase } from '../../database/sqlite/better-sqlite3.js';
import { RESOURCES } from '../../features.js';
import { auditTriggerNames } from '../../resource/audit/audit-triggers.js';
import { sqliteTriggerNames } from '../../resource/usage/triggers.js';
import { openDataSource } from '../resources/open-storage.js';
import { atPath } from '../sqlite-file/database-path.js';

/** Tables that Litestream adds to a database that it replicates. */
const LITESTREAM = ['_litestream_lock', '_litestream_seq'];

const triggers = (): string[] =>
  RESOURCES.flatMap(({ name: { plural } }) => [...sqliteTriggerNames(plural), ...auditTriggerNames(plural)]);

/**
 * Compares the schema of a copy with the schema of a new database after the same migrations, because an additional
 * trigger would run. It ignores the parts that `dropRecreatedParts` drops. The new database stays at `path`.
 * @returns one line for each difference
 */
export async function differencesFromFresh(
  copy: string,
  migrations: readonly string[],
  config: Config,
  path = `${copy}-fresh`,
): Promise<string[]> {
  await using dataSource = await openDataSource(atPath(config, path));
  const executed = dataSource.migrations.filter((each) => migrations.includes(each.name ?? each.constructor.name));
  Object.assign(dataSource, { migrations: executed });
  await migrate(dataSource);
  const [found, expected] = [copy, path].map(schemaOf) as [Map<string, string>, Map<string, string>];
  const recreated = [...LITESTREAM.map((name) => `table ${name}`), ...triggers().map((name) => `trigger ${name}`)];
  for (const name of recreated) for (const schema of [found, expected]) schema.delete(name);
  const extra = [...found.keys()].filter((name) => !expected.has(name));
  const lost = [...expected.keys()].filter((name) => !found.has(name));
  const changed = [...found.keys()].filter((name) => expected.has(name) && expected.get(name) !== found.get(name));
  return [
    ...extra.map((name) => `it has the ${name}`),
    ...lost.map((name) => `it lacks the ${name}`),
    ...changed.map((name) => `its ${name} is not as the migrations make it in a new database`),
  ];
}

/**
 * Drops the triggers with the service's names, which may be hostile, and the tables of Litestream, and empties the
 * tables in which processes store their state: a forged lease might never expire. Service and Litestream make all of
 * them again, the triggers with a new epoch (`makeTriggers`). It also moves a WAL into the file.
 */
export function dropRecreatedParts(path: string): void {
  using database = openDatabase(path);
  database.pragma('journal_mode = DELETE');
  for (const name of LITESTREAM) database.exec(`DROP TABLE IF EXISTS ${name}`);
  for (const name of triggers()) database.exec(`DROP TRIGGER IF EXISTS "${name}"`);
  // An older backup may lack these tables.
  const states = database.prepare(`SELECT name FROM sqlite_schema WHERE name IN ('leases', 'rate_limits')`).pluck();
  for (const table of states.all() as string[]) database.exec(`DELETE FROM ${table}`);
}

/**
 * Comparable SQL by kind and name, without the tables that ANALYZE makes. A table has its columns as SQLite reads them,
 * too: a type can contain blanks and quoted words, such as "NOT" "NULL".
 */
function schemaOf(path: string): Map<string, string> {
  using database = openDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
  const rows = database
    .prepare(
      `SELECT type, name, coalesce(sql, '') AS sql,
         (SELECT group_concat(format('%s %s %d %d', info.name, replace(info.type, ' ', '_'), "notnull", pk), ',' ORDER BY info.name)
          FROM pragma_table_info(part.name) AS info WHERE part.type = 'table') AS columns
       FROM sqlite_schema AS part WHERE NOT (type = 'table' AND name GLOB 'sqlite_stat[1-4]')`,
    )
    .all() as { type: string; name: string; sql: string; columns: string | null }[];
  return new Map(
    rows.map(({ type, name, sql, columns }) => [
      `${type} ${name}`,
      `${comparable(sql)} ${withEqualTexts(columns?.toLowerCase())}`,
    ]),
  );
}

/** Texts of earlier migrations and of rebuilt tables, each with the text that means the same now. */
const EQUAL_TEXTS = [
  [/timestamp(?:_?with(?:out)?_?time_?zone)?/g, 'datetime'],
  ['uuid', 'varchar'],
  ['default(true)', 'default(1)'],
  ['default(false)', 'default(0)'],
  // TypeORM writes this default of SQL when it rebuilds a table.
  ['onupdatenoaction', ''],
] as const;

const withEqualTexts = (sql = ''): string => EQUAL_TEXTS.reduce((text, [old, now]) => text.replaceAll(old, now), sql);

/** SQL without blanks, case of names, and quotes around single words. */
function comparable(sql: string): string {
  const masked = sql.replaceAll(/'(?:[^']|'')*'/g, (text) => Buffer.from(text).toString('hex'));
  const unquoted = masked.replaceAll(/["\x60[](\w+)["\x60\]]/g, '$1');
  const plain = withEqualTexts(unquoted.replaceAll(/\s/g, '').toLowerCase());
  return plain.startsWith('createtable') ? definitionsOf(plain).sort().join() : plain;
}

/**
 * The columns and constraints of a table, without parentheses. When a migration was reverted and has run again, TypeORM
 * has rebuilt tables: the definitions are in another order, and each CHECK has more parentheses.
 */
function definitionsOf(table: string): string[] {
  let definitions = table.replace('(', ',').replace(/\)(?=[^)]*$)/, ',');
  for (let before = ''; before !== definitions;) {
    before = definitions;
    // Removes the innermost parentheses. A comma inside them separates no definitions.
    definitions = before.replaceAll(/\(([^()]*)\)/g, (_all, list: string) => list.replaceAll(',', ' '));
  }
  return definitions.split(',');
}
