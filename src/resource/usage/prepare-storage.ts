import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { committed, transaction } from '../../database/engine.js';
import { hasTriggers, makeTriggers } from './triggers.js';
import type { UsageCounter } from './usage-counter.js';

const logger = new Logger('Storage');

/**
 * Writes the capacity of a resource into its `storage` row, and makes the triggers of its table where they are missing: a migration
 * that rebuilds a table of SQLite loses them.
 */
export async function prepareStorage(
  dataSource: DataSource,
  { resource, capacity }: Pick<UsageCounter, 'resource' | 'capacity'>,
): Promise<void> {
  const [row] = await committed(dataSource).sql<{ capacity: number | null }[]>`
    SELECT capacity FROM storage WHERE resource = ${resource}`;
  if (row === undefined) return;
  const isCounted = hasRevisions(dataSource, resource);
  if (row.capacity === capacity && (!isCounted || (await hasTriggers(committed(dataSource), dataSource, resource)))) {
    return;
  }
  await transaction(dataSource, async (tx) => {
    // The row lock makes other processes that start now wait.
    await tx.sql`UPDATE storage SET capacity = ${capacity} WHERE resource = ${resource}`;
    if (!isCounted || (await hasTriggers(tx, dataSource, resource))) return;
    await makeTriggers(tx, dataSource, resource);
    logger.warn(`The triggers of ${resource} were missing or outdated: they are made, and the ${resource} are counted`);
  });
  if (row.capacity === null || row.capacity === capacity) return;
  logger.log(`The capacity of ${resource} was ${row.capacity}, and is now ${capacity}`);
}

/** Tells whether the resource has a table with revisions; features may count others. */
function hasRevisions({ entityMetadatas }: DataSource, resource: string): boolean {
  const metadata = entityMetadatas.find(({ tableName }) => tableName === resource);
  return metadata?.findColumnWithPropertyName('revision') !== undefined;
}
