import { isDeepStrictEqual } from 'node:util';
import type { Table, TableColumn } from 'typeorm';
import { Query } from 'typeorm/driver/Query.js';
import { scaleOf } from '../columns.js';

/** The current time in TypeORM's format, in UTC with milliseconds; `CURRENT_TIMESTAMP` has whole seconds. */
export const NOW = `strftime('%Y-%m-%d %H:%M:%f', 'now')`;

/** Replaces ` = CURRENT_TIMESTAMP` in a statement, except within its literals and quoted names. */
export function withMilliseconds(sql: string): string {
  return sql.replaceAll(/('[^']*'|"[^"]*")| = CURRENT_TIMESTAMP\b/g, (_, quoted?: string) => quoted ?? ` = ${NOW}`);
}

const FORMATS: Readonly<Record<string, string>> = { date: '%Y-%m-%d', datetime: '%Y-%m-%d %H:%M:%f' };

/** Storage classes (https://sqlite.org/datatype3.html) of numbers by the type of their column. */
const WHOLE = `('integer')`;
const NUMBER = `('integer', 'real')`;
const STORED: Readonly<Record<string, string>> = {
  ...{ integer: WHOLE, int: WHOLE, bigint: WHOLE, smallint: WHOLE },
  ...{ decimal: NUMBER, numeric: NUMBER, 'double precision': NUMBER },
};

/** The type on SQLite of a column in a migration for both engines. */
export const typeOnSqlite = (type: string): string => (type.startsWith('timestamp') ? 'datetime' : type);

/**
 * Renames columns in the checks, indices and keys of a rebuilt table. TypeORM would leave the SQL of checks and partial
 * indices as it was, and would move a renamed column to the end of its index or key.
 */
export function renameInPlace(changed: Table, table: Table): void {
  const names = new Map(table.columns.map(({ name }, position) => [name, changed.columns[position]?.name ?? name]));
  const renamed = (name: string): string => names.get(name) ?? name;
  const isRenaming = [...names].some(([before, after]) => before !== after);
  if (!isRenaming || changed.columns.length !== table.columns.length) return;
  const rewritten = (sql = ''): string => sql.replaceAll(/(?<=")[^"]+(?=")/g, renamed);
  for (const check of changed.checks) check.expression = rewritten(check.expression);
  for (const index of changed.indices) {
    index.where = rewritten(index.where);
    if (index.parser !== undefined) index.parser = rewritten(index.parser);
  }
  for (const kind of ['indices', 'uniques', 'foreignKeys'] as const) {
    changed[kind].forEach((part, position) => {
      part.columnNames = table[kind][position]!.columnNames.map(renamed);
    });
  }
}

/** Drops the CHECKs that name a dropped column, as PostgreSQL does. */
export function dropChecks(changed: Table, table: Table): void {
  if (changed.columns.length >= table.columns.length) return;
  const kept = new Set(changed.columns.map(({ name }) => name));
  const dropped = table.columns.filter(({ name }) => !kept.has(name)).map(({ name }) => `"${name}"`);
  changed.checks = changed.checks.filter(({ expression = '' }) => !dropped.some((name) => expression.includes(name)));
}

/** Drops the UNIQUE of a column that is no longer unique, as PostgreSQL does. TypeORM would keep it. */
export function dropUniques(changed: Table, table: Table): void {
  if (changed.columns.length !== table.columns.length) return;
  const dropped = changed.columns.filter(({ isUnique }, at) => !isUnique && table.columns[at]!.isUnique);
  const names = dropped.map(({ name }) => name);
  changed.uniques = changed.uniques.filter(
    ({ columnNames }) => columnNames.length > 1 || !names.includes(columnNames[0]!),
  );
}

/** Columns whose type, scale or size a rebuild changes. TypeORM copies their values as they are. */
function changedTypes(changed: Table, table: Table) {
  if (changed.columns.length !== table.columns.length) return [];
  const typeOf = (column: TableColumn) => ({
    ...{ name: `"${column.name}"`, type: typeOnSqlite(column.type), scale: scaleOf(column) },
    ...{ precision: column.precision ?? 0, length: Number(column.length) },
  });
  return changed.columns
    .map((column, index) => ({ before: typeOf(table.columns[index]!), after: typeOf(column) }))
    .filter(({ before, after }) => !isDeepStrictEqual({ ...before, name: after.name }, after));
}

/**
 * Statements after a rebuild that turn values into days, instants or texts as they are stored, and back. The last of them
 * fail for a value that a changed column must not have: SQLite stores any value in any column. TypeORM runs those of
 * `down` backwards.
 */
export function conversions(changed: Table, table: Table): { readonly up: Query[]; readonly down: Query[] } {
  const conversionsTo = (side: 'before' | 'after', other: 'before' | 'after'): Query[] =>
    changedTypes(changed, table).flatMap(({ [side]: { name: column, type }, [other]: { scale, type: otherType } }) => {
      const isText = /char|text/.test(type);
      if (isText && scale !== undefined) return update(column, `printf('%.${scale}f', ${column})`);
      if (isText && otherType === 'boolean') return update(column, `iif(${column}, 'true', 'false')`);
      if (type === 'boolean')
        return update(column, `CASE ${column} WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE ${column} END`);
      return FORMATS[type] === undefined ? [] : update(column, `coalesce(${dateSql(type, column)}, ${column})`);
    });
  const update = (column: string, value: string): Query =>
    new Query(`UPDATE "${changed.name}" SET ${column} = ${value} WHERE ${column} IS NOT NULL`);
  return {
    up: [...conversionsTo('after', 'before'), ...misfits(changed, table, 'after')],
    down: [...misfits(changed, table, 'before'), ...conversionsTo('before', 'after')],
  };
}

/** NULL unless the value begins with a day: SQLite takes a number for a Julian day, and 30 February for 2 March. */
const dateSql = (type: string, column: string): string =>
  `iif(date(substr(${column}, 1, 10)) = substr(${column}, 1, 10), strftime('${FORMATS[type]}', ${column}), NULL)`;

/** Statements that fail, also in a generated migration, with a message as a JSON path: SQL has no other way to fail. */
function misfits(changed: Table, table: Table, side: 'before' | 'after'): Query[] {
  return changedTypes(changed, table).flatMap(({ [side]: { name: column, type, scale, precision, length } }) => {
    const conditions = [
      FORMATS[type] !== undefined && `${column} = ${dateSql(type, column)}`,
      STORED[type] !== undefined && `typeof(${column}) IN ${STORED[type]}`,
      scale !== undefined && `${column} = round(${column}, ${scale}) AND abs(${column}) < 1e${precision - scale}`,
      type === 'boolean' && `${column} IN (0, 1)`,
      type === 'smallint' && `${column} BETWEEN -32768 AND 32767`,
      length > 0 && `length(${column}) <= ${length}`,
    ].filter((condition) => typeof condition === 'string');
    if (conditions.length === 0) return [];
    const size = scale === undefined ? length || '' : `${precision},${scale}`;
    const kind = size === '' ? type : `${type}(${size})`;
    const fits = conditions.join(' AND ');
    const message = `'The value ' || json_quote(${column}) || ' of ${column} is no ${kind}; change such rows before the column'`;
    const where = `${column} IS NOT NULL AND (${fits}) IS NOT 1`;
    return [new Query(`SELECT json_extract('{}', ${message}) FROM "${changed.name}" WHERE ${where} LIMIT 1`)];
  });
}

/** An instant of RFC 3339 as the default of a column; without an offset, it is in UTC. */
const INSTANT = /^'([0-9-]{10}T[0-9:.]+)(Z|[+-][0-9:]{5})?'$/;

/** The default `now()` of PostgreSQL, which SQLite does not have. */
const IS_NOW = /^now\(\)$/i;

const BOOLEAN = /^'?(true|false)'?$/i;

/** A default of an entity, or of a migration for both engines, as SQLite stores it. */
export function storedDefault({ type, default: value }: Pick<TableColumn, 'type' | 'default'>): unknown {
  const text = String(value);
  if (type === 'boolean' && BOOLEAN.test(text)) return /true/i.test(text) ? '1' : '0';
  if (IS_NOW.test(text)) return NOW;
  const [, time, offset = 'Z'] = (typeOnSqlite(type) === 'datetime' && INSTANT.exec(text)) || [];
  if (time === undefined) return value;
  return `'${new Date(time + offset).toISOString().replace('T', ' ').replace('Z', '')}'`;
}
