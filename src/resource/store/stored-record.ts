import type { Sql } from '../../database/sql.js';
import type { UsageCounter } from '../usage/usage-counter.js';
import type { RecordOf, ResourceEntity, StoredRecord } from './resource-entity.js';
import type { ResourceTable } from './resource-table.js';

/** The epoch is `null` where the resource has no `storage` row. */
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

/** A row of `find` and its kin as what it says. */
export function storedRecord<Entity extends ResourceEntity>(
  table: ResourceTable,
  storage: UsageCounter,
  { epoch, revision, ...row }: Row,
): StoredRecord<Entity> {
  if (epoch === null) throw storage.rowMissing();
  return { record: table.fromRow(row) as unknown as RecordOf<Entity>, version: { epoch, revision } };
}
