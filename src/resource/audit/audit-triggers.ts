import type { DataSource, EntityMetadata } from 'typeorm';
import { recordColumns, recordJson } from '../store/record-columns.js';
import { areMade, dropTriggersByName, enabledTriggers, type Runner } from '../usage/triggers.js';
import { CONTENT_COLUMNS } from './audit-lines.js';

/** The setting that holds the actors of a transaction on PostgreSQL; see `runAudited`. */
export const ACTORS_SETTING = 'audit.actors';

/** Tells whether a table has its audit triggers as this version makes them, or none if it is not audited. */
export async function hasAuditTriggers(
  runner: Runner,
  dataSource: DataSource,
  table: string,
  audited: boolean,
): Promise<boolean> {
  if (audited) return areMade(runner, dataSource, table, await triggersOf(runner, dataSource, table));
  const existing = await enabledTriggers(runner, dataSource, [table]);
  return !existing.some(({ name }) => auditTriggerNames(table).includes(name));
}

/** Makes the triggers that write the lines of a table, and the row of its chain. */
export async function makeAuditTriggers(runner: Runner, dataSource: DataSource, table: string): Promise<void> {
  await dropAuditTriggers(runner, dataSource, table);
  for (const sql of await triggersOf(runner, dataSource, table)) await runner.query(sql, []);
  await runner.query(
    `INSERT INTO audit_chains (resource, sequence, sealed, hash) VALUES ('${table}', 0, 0, '') ON CONFLICT DO NOTHING`,
    [],
  );
}

export function dropAuditTriggers(runner: Runner, dataSource: DataSource, table: string): Promise<void> {
  return dropTriggersByName(runner, dataSource, functionName(table), auditTriggerNames(table));
}

/** The triggers that protect the tables of the trail. The migration of these tables makes them. */
const GUARDS = {
  sqlite: ['audit_insert', 'audit_inserted', 'audit_update', 'audit_seal', 'audit_delete', 'audit_chains_delete'],
  postgres: ['audit', 'audit_chains'].flatMap((table) => [`${table}_guard_row`, `${table}_guard_statement`]),
} as const;

export async function missingGuards(runner: Runner, dataSource: DataSource): Promise<string[]> {
  const found = await enabledTriggers(runner, dataSource, ['audit', 'audit_chains']);
  const guards = GUARDS[dataSource.options.type === 'postgres' ? 'postgres' : 'sqlite'];
  return guards.filter((guard) => !found.some(({ name }) => name === guard));
}

const EVENTS = ['insert', 'update', 'delete'] as const;

export const auditTriggerNames = (table: string): string[] => EVENTS.map((event) => `${table}_audit_${event}`);

const functionName = (table: string): string => `"${table}_audit"`;

type RowJson = (row: string) => string;

/** The triggers name only columns that the table has: before a migration, or after a revert, the entity has others. */
async function triggersOf(runner: Runner, dataSource: DataSource, table: string): Promise<string[]> {
  const isPostgres = dataSource.options.type === 'postgres';
  const rows = await runner.query<{ name: string }[]>(
    isPostgres
      ? `SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass('"${table}"') AND NOT attisdropped`
      : `SELECT name FROM pragma_table_info('${table}')`,
    [],
  );
  const names = new Set(rows.map(({ name }) => name));
  const json: RowJson = (row) => rowJson(dataSource, dataSource.getMetadata(table), row, names);
  return isPostgres ? postgresTriggers(table, json) : sqliteTriggers(table, json);
}

/** The SQL of a row as JSON, as a GET returns it, or of its stored values if a GET cannot return one of them. */
function rowJson(dataSource: DataSource, entity: EntityMetadata, row: string, names: ReadonlySet<string>): string {
  const columns = recordColumns(dataSource, entity, row).filter(({ metadata }) => names.has(metadata.databaseName));
  const json = `substr(${recordJson(columns)}, 2)`;
  const stored =
    dataSource.options.type === 'postgres'
      ? `to_json(${row})::text`
      : `json_object(${columns.map(({ property, name }) => `'${property}', ${name}`).join(', ')})`;
  return `coalesce(${json}, ${stored})`;
}

/** The lines of a SQLite trigger have no hash: SQLite has no hash function. */
function sqliteTriggers(table: string, json: RowJson): string[] {
  const [before, after] = ['OLD', 'NEW'].map(json) as [string, string];
  const line = (operation: string, id: string, values: readonly [string, string], key: string, condition: string) => `
  INSERT INTO audit (${CONTENT_COLUMNS.join(', ')})
  SELECT '${table}', (SELECT sequence + 1 FROM audit_chains WHERE resource = '${table}'), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
    '${operation}', ${id}, issuer, subject, address, request_id, 'sqlite', "before", "after"
  FROM (SELECT ${values[0]} AS "before", ${values[1]} AS "after") LEFT JOIN audit_actors ON revision = ${key}
  WHERE ${condition};`;
  const created = (condition: string, key: string) => line('create', 'NEW.id', ['NULL', after], key, condition);
  const deleted = (condition: string) => line('delete', 'OLD.id', [before, 'NULL'], '0', condition);
  const updated = line('update', 'NEW.id', [before, after], '0', 'OLD.id = NEW.id AND "before" IS NOT "after"');
  const bodies = {
    insert: created('1', 'NEW.revision'),
    update: updated + deleted('OLD.id <> NEW.id') + created('OLD.id <> NEW.id', '0'),
    delete: deleted('1'),
  };
  return EVENTS.map(
    (event) => `CREATE TRIGGER "${table}_audit_${event}" AFTER ${event} ON "${table}" BEGIN${bodies[event]}\nEND`,
  );
}

/**
 * The triggers call one function after each statement. It locks the `storage` row, then the chain, in the order of the
 * service and of the count triggers. It has the rights of its owner, so other roles need no rights on the trail.
 */
function postgresTriggers(table: string, json: RowJson): string[] {
  const [before, after] = ['old_row', 'new_row'].map(json) as [string, string];
  const changes = (operation: string, id: string, key: string, values: readonly [string, string], from: string) => `
    OPEN changes FOR SELECT ${operation} AS operation, ${id}::text AS record, actor.value AS actor, ${values[0]} AS before, ${values[1]} AS after
    FROM ${from} LEFT JOIN json_each(actors) AS actor ON actor.key = ${key} ORDER BY ${id};`;
  const queries = {
    INSERT: changes(`'create'`, 'new_row.id', 'new_row.revision::text', ['NULL::text', after], 'new_rows AS new_row'),
    UPDATE: changes(
      `CASE WHEN old_row.id IS NULL THEN 'create' WHEN new_row.id IS NULL THEN 'delete' ELSE 'update' END`,
      'coalesce(new_row.id, old_row.id)',
      `'0'`,
      [`CASE WHEN old_row.id IS NOT NULL THEN ${before} END`, `CASE WHEN new_row.id IS NOT NULL THEN ${after} END`],
      `old_rows AS old_row FULL JOIN new_rows AS new_row ON new_row.id = old_row.id`,
    ),
    DELETE: changes(`'delete'`, 'old_row.id', `'0'`, [before, 'NULL::text'], 'old_rows AS old_row'),
    TRUNCATE: changes(`'delete'`, 'old_row.id', `'0'`, [before, 'NULL::text'], `"${table}" AS old_row`),
  };
  // A column may have the name of a variable, such as `actors`. The queries name columns with their row.
  const body = `
#variable_conflict use_variable
DECLARE
  actors json := nullif(current_setting('${ACTORS_SETTING}', true), '')::json;
  changes refcursor;
  line record;
  chain audit_chains%ROWTYPE;
  time text;
  next_hash text;
BEGIN
  ${Object.entries(queries)
    .map(([event, query]) => `IF TG_OP = '${event}' THEN${query}`)
    .join('\n  ELS')}
  END IF;
  LOOP
    FETCH changes INTO line;
    EXIT WHEN NOT FOUND;
    CONTINUE WHEN line.before IS NOT DISTINCT FROM line.after;
    IF chain.resource IS NULL THEN
      PERFORM FROM storage WHERE resource = '${table}' FOR UPDATE;
      SELECT * INTO STRICT chain FROM audit_chains WHERE resource = '${table}' FOR UPDATE;
    END IF;
    chain.sequence := chain.sequence + 1;
    time := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
    next_hash := encode(sha256(convert_to(json_build_array(chain.hash, '${table}'::text, chain.sequence, time, line.operation,
      line.record, line.actor ->> 'issuer', line.actor ->> 'subject', line.actor ->> 'address', line.actor ->> 'requestId',
      session_user::text, line.before, line.after)::text, 'UTF8')), 'hex');
    INSERT INTO audit (${CONTENT_COLUMNS.join(', ')}, previous, hash)
    VALUES ('${table}', chain.sequence, time, line.operation, line.record, line.actor ->> 'issuer', line.actor ->> 'subject',
      line.actor ->> 'address', line.actor ->> 'requestId', session_user, line.before, line.after, chain.hash, next_hash);
    chain.hash := next_hash;
  END LOOP;
  CLOSE changes;
  UPDATE audit_chains SET sequence = chain.sequence, sealed = chain.sequence, hash = chain.hash WHERE resource = chain.resource;
  RETURN NULL;
END`;
  const name = functionName(table);
  const trigger = (when: string, event: string, rows: string): string =>
    `CREATE TRIGGER "${table}_audit_${event.toLowerCase()}" ${when} ${event} ON "${table}" ${rows} FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`;
  return [
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $audit$${body}$audit$`,
    trigger('AFTER', 'INSERT', 'REFERENCING NEW TABLE AS new_rows'),
    trigger('AFTER', 'UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
    trigger('AFTER', 'DELETE', 'REFERENCING OLD TABLE AS old_rows'),
    trigger('BEFORE', 'TRUNCATE', ''),
  ];
}
