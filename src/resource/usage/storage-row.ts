import { randomBytes } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { DataSource, QueryRunner } from 'typeorm';
import { CLI } from '../../config/program-names.js';
import { committed, type Sql, transaction } from '../../database/engine.js';
import { dropAuditTriggers, hasAuditTriggers, makeAuditTriggers } from '../audit/audit-triggers.js';
import { hasTriggers, makeTriggers } from './triggers.js';
import type { UsageCounter } from './usage-counter.js';

const logger = new Logger('Storage');

type PreparedResource = Pick<UsageCounter, 'resource' | 'capacity' | 'audited'>;

/**
 * Writes the capacity of a resource into its `storage` row, and makes missing triggers of its table.
 * @param mayEndAudit whether it drops audit triggers that this version does not declare. A start leaves them: it may be
 * that of an older version, beside a newer one that declares them
 * @throws {Error} for a capacity that is no whole number
 */
export async function prepareStorage(
  dataSource: DataSource,
  { resource, capacity, audited }: PreparedResource,
  mayEndAudit = false,
): Promise<void> {
  if (!(await storeCapacity(dataSource, { resource, capacity }))) return;
  const isAuditRight = (sql: Sql): Promise<boolean> => hasAuditTriggers(sql, dataSource, resource, audited);
  const leavesAudit = !audited && !mayEndAudit;
  const hasAll = async (sql: Sql): Promise<boolean> =>
    (await hasTriggers(sql, dataSource, resource)) && (leavesAudit || (await isAuditRight(sql)));
  if (leavesAudit && !(await isAuditRight(committed(dataSource)))) {
    logger.warn(
      `Changes of ${resource} are still written to the audit trail, though this version does not audit them: ${CLI} doctor --fix ends that`,
    );
  }
  if (await hasAll(committed(dataSource))) return;
  await transaction(dataSource, async (tx) => {
    // The row lock makes other processes that start now wait.
    await tx.sql`UPDATE storage SET capacity = capacity WHERE resource = ${resource}`;
    if (!(await hasTriggers(tx, dataSource, resource))) {
      await makeTriggers(tx, dataSource, resource);
      logger.warn(
        `The triggers of ${resource} were missing or outdated: they were made again, and the ${resource} were counted`,
      );
    }
    if (await hasAll(tx)) return;
    await (audited ? makeAuditTriggers : dropAuditTriggers)(tx, dataSource, resource);
    logger.warn(
      `Changes of ${resource} are ${audited ? 'in the audit trail from now on' : 'no longer in the audit trail'}`,
    );
  });
}

/** Returns whether the resource has a `storage` row. @throws {Error} for a capacity that is no whole number */
export async function storeCapacity(
  dataSource: DataSource,
  { resource, capacity }: Omit<PreparedResource, 'audited'>,
): Promise<boolean> {
  if (!Number.isSafeInteger(capacity) || capacity < 0) {
    throw new Error(`The capacity of ${resource} is ${capacity}; it must be from 0 to ${Number.MAX_SAFE_INTEGER}`);
  }
  const stored = await storedCapacity(dataSource, resource);
  if (stored === undefined) return false;
  if (stored === capacity) return true;
  await transaction(dataSource, (tx) => tx.sql`UPDATE storage SET capacity = ${capacity} WHERE resource = ${resource}`);
  if (stored !== null) logger.log(`The capacity of ${resource} was ${stored}, and is now ${capacity}`);
  return true;
}

/**
 * Completes migrations in their transaction: makes triggers that were dropped or are outdated, and sets new epochs,
 * because records may have other values now. Returns the function to call after the last migration.
 */
export async function keepTriggers(runner: QueryRunner): Promise<() => Promise<void>> {
  const { dataSource } = runner;
  const audited: string[] = [];
  for (const table of await resourceTables(runner)) {
    if (!(await hasAuditTriggers(runner, dataSource, table, false))) audited.push(table);
  }
  return async () => {
    for (const table of await resourceTables(runner)) {
      if (!(await hasTriggers(runner, dataSource, table))) await makeTriggers(runner, dataSource, table);
      if (!audited.includes(table) || (await hasAuditTriggers(runner, dataSource, table, true))) continue;
      await makeAuditTriggers(runner, dataSource, table);
    }
    if (!(await runner.hasTable('storage'))) return;
    await runner.query(`UPDATE storage SET epoch = '${randomBytes(6).toString('hex')}'`);
  };
}

/** The tables of resources with an entity; none in a schema from before the triggers. */
async function resourceTables(runner: QueryRunner): Promise<string[]> {
  if (!(await runner.hasColumn('storage', 'replaced'))) return [];
  const rows = (await runner.query('SELECT resource FROM storage ORDER BY resource')) as { resource: string }[];
  const tables: string[] = [];
  for (const { resource } of rows) {
    if (runner.dataSource.hasMetadata(resource) && (await runner.hasTable(resource))) tables.push(resource);
  }
  return tables;
}

/** The capacity in `storage`: `null` before the first start, `undefined` without a row. */
export async function storedCapacity(dataSource: DataSource, resource: string): Promise<number | null | undefined> {
  const [row] = await committed(dataSource).sql<{ capacity: number | null }[]>`
    SELECT capacity FROM storage WHERE resource = ${resource}`;
  return row?.capacity;
}

/** The count in `storage` and the real number of records; `undefined` without a row in `storage`. */
export async function storedCount(
  dataSource: DataSource,
  resource: string,
): Promise<{ readonly used: number; readonly count: number } | undefined> {
  const table = dataSource.driver.escape(resource);
  const [row] = await committed(dataSource).query<{ used: number; count: number }[]>(
    `SELECT used, (SELECT count(*) FROM ${table}) AS count FROM storage WHERE resource = ?`,
    [resource],
  );
  return row;
}

/** Sets the count of a resource to its number of records, and returns it. */
export function recount(dataSource: DataSource, resource: string): Promise<number> {
  const table = dataSource.driver.escape(resource);
  return transaction(dataSource, async (tx) => {
    // The lock comes first, because a PostgreSQL statement sees only rows that were committed when it began.
    await tx.sql`UPDATE storage SET revision = revision + 1 WHERE resource = ${resource}`;
    const [row] = await tx.query<[{ used: number }]>(
      `UPDATE storage SET used = (SELECT count(*) FROM ${table}) WHERE resource = ? RETURNING used`,
      [resource],
    );
    return row.used;
  });
}
