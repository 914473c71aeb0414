import type { DataSource } from 'typeorm';
import { DatabaseStartError } from '../../database/errors.js';

/** `ON DELETE` actions that change or delete rows without the service. */
const CHANGES_ROWS = new Set(['CASCADE', 'SET NULL', 'SET DEFAULT']);

/**
 * Rejects foreign keys by which the database itself deletes or changes records of a resource. Count and revision would not
 * follow: POST would return 507 too early, and clients would get 304 for deleted records.
 * @param resource its plural name, which is that of its table
 * @throws {DatabaseStartError} naming the foreign key and what to do instead
 */
export async function rejectCascadesInto(dataSource: DataSource, resource: string): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    const table = await runner.getTable(resource);
    const key = table?.foreignKeys.find(({ onDelete }) => CHANGES_ROWS.has(onDelete ?? ''));
    if (key === undefined) return;
    throw new DatabaseStartError(
      `The foreign key of ${resource} (${key.columnNames.join(', ')}) to ${key.referencedTableName} is ON DELETE ${key.onDelete}: ` +
        `${resource} are counted in the table "storage", and what the database deletes or changes by itself is not. Make it ` +
        `ON DELETE RESTRICT, and delete the ${resource} first, each with release() of UsageCounter, in the same transaction`,
    );
  } finally {
    await runner.release();
  }
}
