import type { Sql } from '../../database/engine.js';
import type { UsageCounter } from '../usage/usage-counter.js';
import type { RecordOf, ResourceEntity, StoredRecord } from './resource-entity.js';
import type { ResourceTable } from './resource-table.js';

/** A row with its version; `epoch` is `null` when the resource has no `storage` row. */
export type Row = Readonly<Record<string, unknown>> & { readonly epoch: string | null; readonly revision: number };

/** @param statement of the table that selects one record with its version */
export async function findRecord<Entity extends ResourceEntity>(
  table: ResourceTable,
  storage: UsageCounter,
  source: Sql,
  statement: string,
  id: number,
): Promise<StoredRecord<Entity> | undefined> {
  const [row] = await source.query<Row[]>(statement, [storage.resource, id]);
  return row && storedRecord(table, storage, row);
}

/** Converts a row of `ResourceTable.find` or `findAll`. */
export function storedRecord<Entity extends ResourceEntity>(
  table: ResourceTable,
  storage: UsageCounter,
  { epoch, revision, ...row }: Row,
): StoredRecord<Entity> {
  if (epoch === null) throw storage.rowMissing();
  return { record: table.fromRow(row) as unknown as RecordOf<Entity>, version: { epoch, revision } };
}
