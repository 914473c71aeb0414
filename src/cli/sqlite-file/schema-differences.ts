import { openDatabase } from '../../database/sqlite/better-sqlite3.js';

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

/**
 * Compares the schema with that of another file after the same migrations: tables, indices, triggers and views.
 * @param ignored what does not count, by kind and name, such as `trigger orders_insert`
 * @returns one line for each difference
 */
export function schemaDifferences(path: string, fresh: string, ignored: readonly string[]): string[] {
  const [found, expected] = [path, fresh].map(schemaOf) as [Map<string, string>, Map<string, string>];
  for (const name of ignored) for (const schema of [found, expected]) schema.delete(name);
  const extra = [...found.keys()].filter((name) => !expected.has(name)).map((name) => `it has the ${name}`);
  const lost = [...expected.keys()].filter((name) => !found.has(name)).map((name) => `it lacks the ${name}`);
  const changed = [...found].filter(([name, sql]) => expected.has(name) && expected.get(name) !== sql);
  return [...extra, ...lost, ...changed.map(([name]) => `its ${name} is not that of the migrations`)];
}

/** Comparable SQL by kind and name. */
function schemaOf(path: string): Map<string, string> {
  using database = openDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 });
  const rows = database
    .prepare(`SELECT type, name, coalesce(sql, '') AS sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'`)
    .all() as SchemaObject[];
  return new Map(rows.map((row) => [`${row.type} ${row.name}`, comparable(row)]));
}

/**
 * SQL without quotes, blanks and case of names. Where a migration was reverted and has run again, TypeORM has rebuilt
 * tables: their columns and constraints are in another order, and each CHECK is in further parentheses.
 */
function comparable({ type, sql }: SchemaObject): string {
  // A text may have parentheses and commas: it is compared as it is, in hexadecimal digits.
  const masked = sql.replaceAll(/'(?:[^']|'')*'/g, (text) => Buffer.from(text).toString('hex'));
  const plain = withoutDoubledParentheses(masked.replaceAll(/[\s"\x60[\]]/g, '').toLowerCase());
  return type === 'table' ? definitionsOf(plain).sort().join() : plain;
}

/** Removes each pair of parentheses that has nothing inside but another pair. */
function withoutDoubledParentheses(sql: string): string {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (const { 0: parenthesis, index } of sql.matchAll(/[()]/g)) {
    if (parenthesis === '(') open.push(index);
    else ends.set(open.pop() ?? -1, index);
  }
  const doubled = new Set([...ends].filter(([begin, end]) => ends.get(begin + 1) === end - 1).flat());
  return sql.replaceAll(/[()]/g, (parenthesis, index: number) => (doubled.has(index) ? '' : parenthesis));
}

/** The columns and constraints of a CREATE TABLE, which commas separate, and what is around them. */
function definitionsOf(sql: string): string[] {
  const definitions = [''];
  let depth = 0;
  for (const character of sql) {
    if (character === '(') depth++;
    if (character === ')') depth--;
    const isBoundary = (character === '(' && depth === 1) || (character === ')' && depth === 0);
    if (isBoundary || (character === ',' && depth === 1)) definitions.push('');
    else definitions.push(definitions.pop()! + character);
  }
  return definitions;
}
