import { type DataSource, getMetadataArgsStorage, type Repository } from 'typeorm';
import { committed } from '../../database/engine.js';
import type { Id } from '../id-kinds.js';
import type { AnyResourceEntity } from '../resource-entity.js';
import type { RecordClass } from '../resource.js';
import { placeholders } from './resource-table.js';

/** A foreign key value of a record without a referenced record. */
export interface MissingReference {
  /** Index of the record. */
  readonly index: number;
  readonly property: string;
  readonly value: Id;
  readonly table: string;
}

/** The properties of an entity that refer to records of the same resource. */
export function ownReferences(entity: RecordClass): string[] {
  return getMetadataArgsStorage()
    .foreignKeys.filter(({ target, type }) => target === entity && type === entity.name)
    .map(({ propertyName }) => propertyName!);
}

/**
 * Looks up the references of records in the committed state. An import does it before it stores them.
 * @returns the references without a referenced record; one to the same resource may name a record of the import
 */
export async function missingReferences(
  { metadata, manager: { dataSource } }: Repository<AnyResourceEntity>,
  records: readonly object[],
): Promise<MissingReference[]> {
  const missing: MissingReference[] = [];
  for (const { columns, referencedColumns, referencedEntityMetadata } of metadata.foreignKeys) {
    const { tableName: table } = referencedEntityMetadata;
    if (columns.length !== 1) continue;
    const { propertyName: property } = columns[0]!;
    const values = records.map((record) => (record as Record<string, Id | null | undefined>)[property] ?? null);
    const wanted = values.filter((value) => value !== null);
    const existing = await existingValues(dataSource, table, referencedColumns[0]!.databaseName, wanted);
    values.forEach((value, index) => {
      if (value !== null && !existing.has(String(value))) missing.push({ index, property, value, table });
    });
  }
  return missing;
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
