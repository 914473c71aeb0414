import type { Table } from 'typeorm';
import { Query } from 'typeorm/driver/Query.js';

/** The formats of stored days and instants. */
const FORMATS: Readonly<Record<string, string>> = { date: '%Y-%m-%d', datetime: '%Y-%m-%d %H:%M:%f' };

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
  for (const index of changed.indices) index.where = rewritten(index.where);
  for (const kind of ['indices', 'uniques', 'foreignKeys'] as const) {
    changed[kind].forEach((part, position) => {
      part.columnNames = table[kind][position]!.columnNames.map(renamed);
    });
  }
}

/** Statements that turn days into instants, or instants into days: a rebuild copies their texts as they are. */
export function dateConversions(changed: Table, table: Table): { readonly up: Query[]; readonly down: Query[] } {
  const columns = changed.columns.length === table.columns.length ? changed.columns : [];
  const conversions = columns.flatMap(({ name, type }, position) => {
    const [before, after] = [table.columns[position]!.type, type].map((each) => FORMATS[typeOnSqlite(each)]);
    if (before === undefined || after === undefined || before === after) return [];
    const to = (format: string) =>
      new Query(`UPDATE "${changed.name}" SET "${name}" = coalesce(strftime('${format}', "${name}"), "${name}")`);
    return [{ up: to(after), down: to(before) }];
  });
  return { up: conversions.map(({ up }) => up), down: conversions.map(({ down }) => down) };
}
