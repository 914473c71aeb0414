import type { Table, TableColumn } from 'typeorm';

/**
 * The type that a column has on PostgreSQL. `integer` has 64 bits, as on SQLite: ids, revisions and counts go to 2^53 - 1, and PostgreSQL's own
 * `integer` ends at 2^31. A date with a time is an instant: without a time zone it would be one of the zone of whoever reads it.
 */
export function portable(type: string): string {
  if (/^(integer|int|int4)$/.test(type)) return 'bigint';
  return /^(datetime|timestamp|timestamp without time zone)$/.test(type) ? 'timestamp with time zone' : type;
}

/** A column of a migration as PostgreSQL makes it: a generated number is an identity, which is never given twice. */
export function portableColumn(column: TableColumn): TableColumn {
  const copy = column.clone();
  copy.type = portable(column.type);
  if (copy.isGenerated && copy.generationStrategy === 'increment') copy.generationStrategy = 'identity';
  return copy;
}

export function portableTable(table: Table): Table {
  const copy = table.clone();
  copy.columns = copy.columns.map(portableColumn);
  return copy;
}
