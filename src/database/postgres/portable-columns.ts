import type { Table, TableColumn } from 'typeorm';

/**
 * The PostgreSQL type of a column type. `integer` becomes a 64-bit type, as on SQLite, because ids, revisions and
 * counts reach 2^53 - 1. A date with a time becomes `timestamptz`, an instant that does not depend on a time zone.
 */
export function portable(type: string): string {
  if (/^(integer|int|int4)$/.test(type)) return 'bigint';
  return /^(datetime|timestamp|timestamp without time zone)$/.test(type) ? 'timestamp with time zone' : type;
}

/** The PostgreSQL column of a migration. A generated number becomes an identity column. */
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
