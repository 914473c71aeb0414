import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { committed, engineOf, openSnapshot, type Sql, transaction } from '../../database/engine.js';
import { dropAuditTriggers, hasAuditTriggers, makeAuditTriggers } from '../audit/audit-triggers.js';
import { entityOf, hasTriggers, makeTriggers } from './triggers.js';
import type { UsageCounter } from './usage-counter.js';

const logger = new Logger('Storage');

/**
 * Writes the capacity of a resource into its `storage` row, and makes missing triggers of its table. On SQLite, a
 * migration that rebuilds the table drops them.
 */
export async function prepareStorage(
  dataSource: DataSource,
  { resource, capacity, audited }: Pick<UsageCounter, 'resource' | 'capacity' | 'audited'>,
): Promise<void> {
  const [row] = await committed(dataSource).sql<{ capacity: number | null }[]>`
    SELECT capacity FROM storage WHERE resource = ${resource}`;
  if (row === undefined) return;
  // Features may also count tables without revisions.
  const isCounted = entityOf(dataSource, resource)?.findColumnWithPropertyName('revision') !== undefined;
  const isAuditRight = (sql: Sql): Promise<boolean> => hasAuditTriggers(sql, dataSource, resource, audited);
  const hasAll = async (sql: Sql): Promise<boolean> =>
    !isCounted || ((await hasTriggers(sql, dataSource, resource)) && (await isAuditRight(sql)));
  if (row.capacity === capacity && (await hasAll(committed(dataSource)))) return;
  await transaction(dataSource, async (tx) => {
    // The row lock makes other processes that start now wait.
    await tx.sql`UPDATE storage SET capacity = ${capacity} WHERE resource = ${resource}`;
    if (!isCounted) return;
    if (!(await hasTriggers(tx, dataSource, resource))) {
      await makeTriggers(tx, dataSource, resource);
      logger.warn(
        `The triggers of ${resource} were missing or outdated: they are made, and the ${resource} are counted`,
      );
    }
    if (await isAuditRight(tx)) return;
    await (audited ? makeAuditTriggers : dropAuditTriggers)(tx, dataSource, resource);
    logger.warn(
      `Changes of ${resource} are ${audited ? 'in the audit trail from now on' : 'no longer in the audit trail'}`,
    );
  });
  if (row.capacity === null || row.capacity === capacity) return;
  logger.log(`The capacity of ${resource} was ${row.capacity}, and is now ${capacity}`);
}

/** The count in `storage` and the real number of records. */
export interface StoredCount {
  readonly used: number;
  readonly count: number;
}

/** Milliseconds between two counting statements, so that requests are served. */
const PAUSE = 5;

/**
 * Counts the records of a resource in one snapshot; on SQLite in pieces, so as not to block requests.
 * @param signal ends the counting
 * @returns `undefined` when the resource has no table of its name, or no row in `storage`
 * @throws {DatabaseUnavailableError} when it takes longer than a statement may
 */
export async function storedCount(
  dataSource: DataSource,
  resource: string,
  signal?: AbortSignal,
): Promise<StoredCount | undefined> {
  const table = tableOf(dataSource, resource);
  if (table === undefined) return undefined;
  const { countedRows } = engineOf(dataSource).statementLimits;
  if (countedRows === Infinity) return countAtOnce(committed(dataSource), resource, table);
  const snapshot = await openSnapshot(dataSource);
  try {
    const [row] = await snapshot.sql<{ used: number }[]>`SELECT used FROM storage WHERE resource = ${resource}`;
    return row && { used: row.used, count: await countInPieces(snapshot, table, countedRows, signal) };
  } finally {
    snapshot.close();
  }
}

/**
 * Sets the count of a resource to its number of records, under the lock of its `storage` row.
 * @returns the number of records
 */
export function recount(dataSource: DataSource, resource: string): Promise<number | undefined> {
  const table = tableOf(dataSource, resource);
  if (table === undefined) return Promise.resolve(undefined);
  return transaction(dataSource, async (tx) => {
    // The lock comes first, because a PostgreSQL statement sees only rows that were committed when it began.
    await tx.sql`UPDATE storage SET revision = revision + 1 WHERE resource = ${resource}`;
    const [row] = await tx.query<{ used: number }[]>(
      `UPDATE storage SET used = (SELECT count(*) FROM ${table.name}) WHERE resource = ? RETURNING used`,
      [resource],
    );
    return row?.used;
  });
}

type Table = Readonly<Record<'name' | 'key', string>>;

/** Quoted names of the table and its key; the table has the plural name of the resource. */
function tableOf(dataSource: DataSource, resource: string): Table | undefined {
  const { driver } = dataSource;
  const key = entityOf(dataSource, resource)?.primaryColumns[0]?.databaseName;
  return key === undefined ? undefined : { name: driver.escape(resource), key: driver.escape(key) };
}

async function countAtOnce(source: Sql, resource: string, { name }: Table): Promise<StoredCount | undefined> {
  const [row] = await source.query<StoredCount[]>(
    `SELECT used, (SELECT count(*) FROM ${name}) AS count FROM storage WHERE resource = ?`,
    [resource],
  );
  return row;
}

async function countInPieces(source: Sql, { name, key }: Table, piece: number, signal?: AbortSignal): Promise<number> {
  let count = 0;
  let beyond = '';
  let parameters: unknown[] = [];
  for (;;) {
    signal?.throwIfAborted();
    const [end] = await source.query<{ last: unknown }[]>(
      `SELECT ${key} AS last FROM ${name} ${beyond} ORDER BY ${key} LIMIT 1 OFFSET ${piece - 1}`,
      parameters,
    );
    if (end === undefined) break;
    count += piece;
    beyond = `WHERE ${key} > ?`;
    parameters = [end.last];
    await sleep(PAUSE);
  }
  const [rest] = await source.query<[{ count: number }]>(`SELECT count(*) AS count FROM ${name} ${beyond}`, parameters);
  return count + rest.count;
}
