import { randomBytes } from 'node:crypto';
import type { QueryRunner } from 'typeorm';
import { hasAuditTriggers, makeAuditTriggers } from '../audit/audit-triggers.js';
import { hasTriggers, makeTriggers } from './triggers.js';

/**
 * Completes migrations in their transaction. It makes missing and outdated triggers, because a running service may write
 * before the next start; on SQLite, a migration that rebuilds a table drops its triggers. It sets new epochs, because
 * records may have other values now under their old revisions.
 * @returns the function to call after the last migration
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
