import type { Table, TableColumn } from 'typeorm';

/**
 * A column that entities and migrations call `integer` has 64 bits, as on SQLite: ids, revisions and counts go to 2^53 - 1.
 * PostgreSQL's own `integer` ends at 2^31.
 */
export function portable(type: string): string {
  return /^(integer|int|int4)$/.test(type) ? 'bigint' : type;
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
