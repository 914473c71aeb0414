import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import { CLI, MIGRATE } from '../../config/program-names.js';
import { committed, engineOf, transaction } from '../../database/engine.js';
import { describeStored, inForce, storedSettings } from '../../database/polling/live-config.js';
import { pendingMigrations, unknownMigrations, unreadableEntities } from '../../database/schema/migrations.js';
import { RESOURCES } from '../../features.js';
import { hasAuditTriggers, missingGuards } from '../../resource/audit/audit-triggers.js';
import type { Resource } from '../../resource/resource.js';
import { prepareStorage, recount, storedCount } from '../../resource/usage/storage-row.js';
import { hasTriggers } from '../../resource/usage/triggers.js';
import { lostChains } from '../audit.js';
import { findUnfinishedImport } from '../import/import-progress.js';
import { capacityFor, openConfiguredDatabase, openDataSource } from '../resources/open-storage.js';
import { databaseExists } from '../sqlite-file/database-path.js';
import type { Checks } from './doctor-sqlite.js';

type StorageCheck = (dataSource: DataSource, config: Config) => Promise<string>;

const onDatabase = (check: StorageCheck) => async (config: Config) => {
  // Opening a SQLite database creates it, and `doctor` must not.
  if (!databaseExists(config)) return 'there is no database yet';
  await using dataSource = await openDataSource(config);
  return await check(dataSource, config);
};

/** For a check that needs all tables, as this version makes them. */
const onTables = (check: StorageCheck) =>
  onDatabase(async (dataSource, config) => {
    if ((await unknownMigrations(dataSource)).length > 0) return 'not known to this version';
    const pending = await pendingMigrations(dataSource);
    return pending.length > 0 ? 'not known before the migrations have run' : check(dataSource, config);
  });

/** Checks that a PostgreSQL server accepts writes: a standby, a database or the user may be read-only. */
export const server = onDatabase(async (dataSource) => {
  await engineOf(dataSource).check();
  await expectAllRows(dataSource);
  const missing = await missingRights(dataSource);
  if (missing.length === 0) return 'reads and writes';
  const names = missing.map((each) => each.names).join(', ');
  const grants = missing.map((each) => `GRANT ${each.rights} ${each.names}`).join('; ');
  throw new Error(`the user may not change ${names}: make the user the owner, or run ${grants}`);
});

/** Rejects policies that hide rows from the user: lists would be short, and `--fix` would store too small a count. */
async function expectAllRows(dataSource: DataSource): Promise<void> {
  const tables = ['storage', ...RESOURCES.map(({ name }) => name.plural)];
  const filtered = await committed(dataSource).sql<{ name: string }[]>`
    SELECT name FROM unnest(${tables}::text[]) AS name WHERE row_security_active(to_regclass(quote_ident(name)))`;
  if (filtered.length === 0) return;
  const alter = filtered.map(({ name }) => `ALTER TABLE "${name}" DISABLE ROW LEVEL SECURITY`).join('; ');
  throw new Error(`row level security may hide rows from the user: run ${alter}`);
}

const ALL_RIGHTS = 'SELECT, INSERT, UPDATE, DELETE';

/** The rights that the service needs on tables without an entity. */
const OTHER_RIGHTS = {
  audit: 'SELECT, INSERT, DELETE',
  audit_chains: 'SELECT, UPDATE',
  idempotency_keys: ALL_RIGHTS,
  imports: ALL_RIGHTS,
  leases: ALL_RIGHTS,
  live_settings: 'SELECT',
  migrations: 'SELECT',
  rate_limits: ALL_RIGHTS,
  revoked_tokens: 'SELECT',
};

/** Missing rights on tables and on their sequences of ids. It leaves out tables that a migration will make. */
function missingRights(dataSource: DataSource): Promise<{ rights: string; names: string }[]> {
  const { driver, entityMetadatas } = dataSource;
  const entities = entityMetadatas.filter(({ tableType }) => tableType === 'regular');
  const ofEntities = entities.map(({ tablePath }) => [tablePath, ALL_RIGHTS] as const);
  const all = [...ofEntities, ...Object.entries(OTHER_RIGHTS)].map(([name, each]) => [driver.escape(name), each]);
  const rights = JSON.stringify(Object.fromEntries(all));
  return committed(dataSource).sql<{ rights: string; names: string }[]>`
    WITH tables AS (SELECT name, rights, to_regclass(name) AS id
      FROM json_each_text(${rights}::json) AS tables (name, rights))
    SELECT rights || ' ON' AS rights, string_agg(name, ', ') AS names FROM tables
    WHERE EXISTS (SELECT FROM regexp_split_to_table(rights, ', ') AS needed WHERE NOT has_table_privilege(id, needed))
    GROUP BY rights
    UNION ALL
    SELECT 'USAGE, UPDATE ON SEQUENCE', string_agg(pg_class.oid::regclass::text, ', ') FROM tables
    JOIN pg_depend ON refobjid = tables.id AND deptype IN ('a', 'i') JOIN pg_class ON oid = objid AND relkind = 'S'
    WHERE NOT (has_sequence_privilege(oid, 'USAGE') AND has_sequence_privilege(oid, 'UPDATE')) HAVING count(*) > 0`;
}

export const storageChecks: Checks = {
  migrations: onDatabase(migrations),
  set: onTables(liveSettings),
  counter: onTables(counters),
  ...(RESOURCES.some(({ audited }) => audited) && { audit: onTables(auditTrail) }),
  import: onTables(unfinishedImports),
};

async function migrations(dataSource: DataSource, config: Config): Promise<string> {
  const newer = await unknownMigrations(dataSource);
  if (newer.length > 0) throw new Error(`${newer.join(', ')} are of a newer version: use that version`);
  const pending = await pendingMigrations(dataSource);
  if (pending.length === 0) {
    const problems = await unreadableEntities(dataSource);
    if (problems.length > 0) throw new Error(problems.join('; '));
    return 'all have run';
  }
  const names = pending.join(', ');
  const { migrateOnStart } = config.database;
  if (!migrateOnStart) throw new Error(`${names} have not run, and MIGRATE_ON_START is false: ${MIGRATE}`);
  if (await mayCreateTables(dataSource)) return `the next start runs ${names}`;
  throw new Error(`${names} are to run, and the user may not create tables: make the user the owner of the database`);
}

async function mayCreateTables(dataSource: DataSource): Promise<boolean> {
  if (dataSource.options.type !== 'postgres') return true;
  const sql = `SELECT has_schema_privilege(current_schema(), 'CREATE') AS may`;
  const [row] = await committed(dataSource).query<[{ may: boolean }]>(sql, []);
  return row.may;
}

async function counters(dataSource: DataSource, config: Config): Promise<string> {
  const counts: string[] = [];
  const problems: string[] = [];
  for (const resource of RESOURCES) {
    const { plural, pluralText } = resource.name;
    const found = await storedCount(dataSource, plural);
    if (found === undefined) throw new Error(`the table "storage" has no row for ${plural}: restore a backup`);
    const { used, count } = found;
    const capacity = await capacityFor(dataSource, config, resource);
    problems.push(...(await wrongTriggers(dataSource, resource)));
    const id = await idAfterSequence(dataSource, resource);
    if (id !== undefined) problems.push(`the next ids of the ${pluralText} are taken, up to ${id}: POST is 409`);
    if (used !== count) problems.push(`it says ${used}, and there are ${count} ${pluralText}`);
    else counts.push(`${used} ${pluralText} of ${capacity}${used > capacity ? ': POST is rejected' : ''}`);
  }
  if (problems.length > 0) throw new Error(`${problems.join('; ')}: run ${CLI} doctor --fix`);
  return counts.join(', ');
}

/** The largest id, if the next ids would be those of stored records: a copy of the records may lack the sequence. */
async function idAfterSequence(dataSource: DataSource, { name }: Resource): Promise<number | undefined> {
  if (name.ids.next !== undefined) return undefined;
  const given = engineOf(dataSource).dialect.lastGivenId(name.plural);
  const [row] = await committed(dataSource).query<{ id: number }[]>(
    `SELECT id FROM ${dataSource.driver.escape(name.plural)} WHERE id > ${given} ORDER BY id DESC LIMIT 1`,
    [],
  );
  return row?.id;
}

/** Tells how the triggers of a resource differ from the triggers of this version. */
async function wrongTriggers(dataSource: DataSource, { name, audited = false }: Resource): Promise<string[]> {
  const sql = committed(dataSource);
  const counting = await hasTriggers(sql, dataSource, name.plural);
  const auditing = await hasAuditTriggers(sql, dataSource, name.plural, audited);
  const missing = (kind: string) => `the triggers that ${kind} the ${name.pluralText} are missing or outdated`;
  const left =
    `changes of the ${name.pluralText} are in the audit trail, ` +
    'though this version does not audit them (a newer one may)';
  return [...(counting ? [] : [missing('count')]), ...(auditing ? [] : [audited ? missing('audit') : left])];
}

/** Checks what protects the audit trail; `cli audit verify` checks its lines. */
async function auditTrail(dataSource: DataSource): Promise<string> {
  const sql = committed(dataSource);
  const lost = await lostChains(sql, dataSource);
  if (lost.length > 0) throw new Error(`audit_chains has no row for ${lost.join(', ')}: restore a backup`);
  const guards = await missingGuards(sql, dataSource);
  if (guards.length === 0) return 'is protected';
  const remedy = 'make them as the migration CreateAudit does';
  throw new Error(`its triggers ${guards.join(', ')} are missing or disabled: ${remedy}`);
}

/** Makes missing triggers, and corrects wrong counts and sequences of ids, each with a line. The service may run. */
export async function fixCounters(config: Config, onFixed: (line: string) => void): Promise<string> {
  if (!databaseExists(config)) return 'there is no database yet';
  await using dataSource = await openConfiguredDatabase(config);
  if (dataSource.options.type === 'postgres') await expectAllRows(dataSource);
  for (const resource of RESOURCES) {
    const { name, audited = false } = resource;
    const wrong = await wrongTriggers(dataSource, resource);
    if (wrong.length > 0) {
      const capacity = await capacityFor(dataSource, config, resource);
      await prepareStorage(dataSource, { resource: name.plural, capacity, audited }, true);
      onFixed(`${wrong.join('; ')}: corrected`);
    }
    const id = await idAfterSequence(dataSource, resource);
    if (id !== undefined) {
      await transaction(dataSource, async (tx) => {
        await tx.sql`UPDATE storage SET capacity = capacity WHERE resource = ${name.plural}`;
        await engineOf(dataSource).advanceIdSequence(tx, name.plural, id);
      });
      onFixed(`the next id of the ${name.pluralText} is greater than ${id}`);
    }
    const before = await storedCount(dataSource, name.plural);
    if (before === undefined || before.used === before.count) continue;
    const count = await recount(dataSource, name.plural);
    onFixed(`counted again: there are ${count} ${name.pluralText}, and the counter was ${before.used}`);
  }
  return 'triggers, ids and counters are right';
}

/** The values of `cli set`, which replace values of the environment. */
async function liveSettings(dataSource: DataSource, config: Config): Promise<string> {
  const { stored, problems } = inForce(config, await storedSettings(dataSource));
  if (problems.length > 0) throw new Error(`${problems.join('; ')}: run ${CLI} set --unset NAME`);
  if (stored.length === 0) return 'nothing is set while the service runs: the environment is in force';
  return `${stored.map(describeStored).join('; ')}: these override the environment`;
}

async function unfinishedImports(dataSource: DataSource): Promise<string> {
  const unfinished: string[] = [];
  for (const { name } of RESOURCES) {
    const found = await findUnfinishedImport(committed(dataSource), name.plural);
    if (found === undefined) continue;
    const progress = `one that began at ${found.started} has stored ${found.lines} lines`;
    unfinished.push(`${progress}: go on with cli import ${name.plural} --resume`);
  }
  return unfinished.length === 0 ? 'none is unfinished' : unfinished.join('; ');
}
