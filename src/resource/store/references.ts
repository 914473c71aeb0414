import type { DataSource, Repository } from 'typeorm';
import { committed } from '../../database/engine.js';
import type { Id } from '../id-kinds.js';
import type { AnyResourceEntity } from '../resource-entity.js';
import { placeholders } from './resource-table.js';

/** A foreign key value of a record without a referenced record. */
export interface MissingReference {
  readonly property: string;
  readonly value: Id;
  readonly table: string;
}

/**
 * Looks up the references of records to other resources in the committed state. An import does it before it stores them.
 * @returns for each record its first reference without a referenced record
 */
export async function missingReferences(
  { metadata, manager: { dataSource } }: Repository<AnyResourceEntity>,
  records: readonly object[],
): Promise<(MissingReference | undefined)[]> {
  const found = records.map<MissingReference | undefined>(() => undefined);
  for (const { columns, referencedColumns, referencedEntityMetadata } of metadata.foreignKeys) {
    const { tableName: table } = referencedEntityMetadata;
    // A reference to the same resource may name a record of the same import.
    if (columns.length !== 1 || table === metadata.tableName) continue;
    const { propertyName: property } = columns[0]!;
    const values = records.map((record) => (record as Record<string, Id | null | undefined>)[property] ?? null);
    const wanted = values.filter((value) => value !== null);
    const existing = await existingValues(dataSource, table, referencedColumns[0]!.databaseName, wanted);
    values.forEach((value, index) => {
      if (value !== null && !existing.has(String(value))) found[index] ??= { property, value, table };
    });
  }
  return found;
}

/** Returns the values that a column of a table has, as text. */
export async function existingValues(
  dataSource: DataSource,
  table: string,
  column: string,
  values: readonly Id[],
): Promise<Set<string>> {
  const distinct = [...new Set(values)];
  if (distinct.length === 0) return new Set();
  const [sqlTable, sqlColumn] = [table, column].map((name) => dataSource.driver.escape(name));
  const rows = await committed(dataSource).query<{ value: Id }[]>(
    `SELECT ${sqlColumn} AS value FROM ${sqlTable} WHERE ${sqlColumn} IN (${placeholders(distinct)})`,
    distinct,
  );
  return new Set(rows.map(({ value }) => String(value)));
}
