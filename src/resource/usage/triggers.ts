import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { CAPACITY_REACHED } from '../../database/constraint-violation.js';
import type { Sql } from '../../database/engine.js';
import { type IdKind, idKindOf } from '../id-kinds.js';

/** A transaction, or the query runner of a migration. */
export type Runner = Pick<Sql, 'query'>;

/**
 * The enabled triggers of some tables: with the statement on SQLite, the body of the function on PostgreSQL. It leaves
 * out functions whose search_path lacks their schema, which was renamed: they would not find its tables.
 */
export function enabledTriggers(runner: Runner, { options }: DataSource, tables: readonly string[]) {
  const isPostgres = options.type === 'postgres';
  // Without parameters, which are `?` in a transaction, but `$1` in a migration on PostgreSQL.
  const names = tables.map((table) => (isPostgres ? `to_regclass('"${table}"')` : `'${table}'`)).join(', ');
  return runner.query<{ name: string; source: string }[]>(
    isPostgres
      ? `SELECT tgname AS name, prosrc AS source FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
         WHERE tgrelid IN (${names}) AND tgenabled IN ('O', 'A') AND lower(btrim(pronamespace::regnamespace::text, '"')) IN
           (SELECT lower(replace(btrim(schema, ' "'), '$user', current_user)) FROM unnest(proconfig) AS path,
            string_to_table(replace(path, 'search_path=', ''), ',') AS schema)`
      : `SELECT name, sql AS source FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN (${names})`,
    [],
  );
}

/** Tells whether the triggers of a table exist, are enabled, and equal those that the statements of `create` make. */
export async function areMade(runner: Runner, dataSource: DataSource, table: string, create: readonly string[]) {
  const triggers = create.filter((sql) => sql.startsWith('CREATE TRIGGER'));
  const existing = await enabledTriggers(runner, dataSource, [table]);
  // On PostgreSQL, the statement that makes the function has its body between dollar quotes.
  const isExpected = (source: string) => create.some((sql) => sql === source || sql.includes(`$${source}$`));
  return existing.filter(({ source }) => isExpected(source)).length === triggers.length;
}

/** Drops triggers: on PostgreSQL with the function that they call, on SQLite by their names. */
export async function dropTriggersByName(
  runner: Runner,
  { options }: DataSource,
  functionName: string,
  names: readonly string[],
): Promise<void> {
  const statements =
    options.type === 'postgres'
      ? [`DROP FUNCTION IF EXISTS ${functionName}() CASCADE`]
      : names.map((name) => `DROP TRIGGER IF EXISTS "${name}"`);
  for (const sql of statements) await runner.query(sql, []);
}

/** Largest plausible step between two revisions. A record that brings a larger revision gets the next one. */
const LARGEST_STEP = 1_000_000;

/**
 * The triggers that keep the `storage` row of a table correct for every writer: count, capacity and revision. A record
 * keeps the revision that its writer brings if it is above that of the row; otherwise it gets the next one.
 */
async function triggersOf(runner: Runner, { options }: DataSource, table: string, ids: IdKind): Promise<string[]> {
  if (options.type === 'postgres') return postgresTriggers(table, ids);
  return sqliteTriggers(table, await uniqueKeys(runner, table), ids);
}

/** The kind of ids of a table by its entity; integers if it has none. */
const idsOf = ({ entityMetadatas }: DataSource, table: string): IdKind =>
  idKindOf(entityMetadatas.find(({ tableName }) => tableName === table)?.primaryColumns[0]?.type);

/** Tells whether a table has its triggers as this version makes them. */
export async function hasTriggers(runner: Runner, dataSource: DataSource, table: string): Promise<boolean> {
  return areMade(runner, dataSource, table, await triggersOf(runner, dataSource, table, idsOf(dataSource, table)));
}

/** Makes the triggers of a table. Records may have changed without them, so it counts them and sets a new epoch. */
export async function makeTriggers(
  runner: Runner,
  dataSource: DataSource,
  table: string,
  ids = idsOf(dataSource, table),
): Promise<void> {
  const create = await triggersOf(runner, dataSource, table, ids);
  await dropTriggers(runner, dataSource, table);
  for (const sql of create) await runner.query(sql, []);
  const epoch = randomBytes(6).toString('hex');
  await runner.query(
    `UPDATE storage SET epoch = '${epoch}', used = (SELECT count(*) FROM "${table}"), revision =
       (SELECT max(revision) FROM (SELECT revision FROM "${table}" UNION ALL SELECT storage.revision) AS revisions)
     WHERE resource = '${table}'`,
    [],
  );
}

export function dropTriggers(runner: Runner, dataSource: DataSource, table: string): Promise<void> {
  return dropTriggersByName(runner, dataSource, functionName(table), sqliteTriggerNames(table));
}

const functionName = (table: string): string => `"${table}_books"`;

export const sqliteTriggerNames = (table: string): string[] =>
  ['replace', 'insert', 'update', 'delete', 'move', 'moved', 'renumber'].map((kind) => `${table}_${kind}`);

/**
 * The columns of each unique key of a SQLite table; the first is the id. Partial indexes are left out, because SQLite
 * does not report their rows: REPLACE of a record by such an index counts one record too many.
 */
async function uniqueKeys(runner: Runner, table: string): Promise<string[][]> {
  const rows = await runner.query<{ key: string; column: string | null }[]>(
    `SELECT keys.name AS key, columns.name AS "column" FROM pragma_index_list(?) AS keys, pragma_index_info(keys.name) AS columns
     WHERE keys."unique" AND NOT keys.partial AND keys.origin <> 'pk' ORDER BY keys.name, columns.seqno`,
    [table],
  );
  const keys = new Map<string, string[]>();
  // An index on an expression has a column without a name.
  for (const { key, column } of rows) keys.set(key, [...(keys.get(key) ?? []), column ?? '']);
  return [['id'], ...[...keys.values()].filter((columns) => !columns.includes(''))];
}

/**
 * The `storage` column `replaced` counts the records that REPLACE deletes because they have the same id or unique
 * values. SQLite runs no DELETE triggers for them, unless `recursive_triggers` is on. The count is right in both cases.
 */
function sqliteTriggers(table: string, keys: readonly (readonly string[])[], { next }: IdKind): string[] {
  const row = `WHERE resource = '${table}'`;
  const nextRevision = `
  UPDATE "${table}" SET revision = (SELECT revision + 1 FROM storage ${row})
  WHERE id = NEW.id AND NOT EXISTS (SELECT 1 FROM storage ${row} AND typeof(NEW.revision) = 'integer'
    AND NEW.revision - revision BETWEEN 1 AND ${LARGEST_STEP});`;
  const revision = `revision = max(revision, (SELECT revision FROM "${table}" WHERE id = NEW.id))`;
  const equal = keys.map((columns) => columns.map((column) => `"${column}" = NEW."${column}"`).join(' AND '));
  const same = `FROM "${table}" WHERE (${equal.join(' OR ')})`;
  const isReplacing = `EXISTS (SELECT 1 FROM storage ${row} AND replaced IS NOT NULL)`;
  // A statement that ignores a conflict leaves a value in `replaced`; the next statement sets it again.
  const note = (conflicts: string): string => `WHEN EXISTS (SELECT 1 ${conflicts}) OR ${isReplacing} BEGIN
  UPDATE storage SET replaced = (SELECT count(*) ${conflicts}) ${row};
END`;
  const moves = `UPDATE OF ${[...new Set(keys.flat())].map((column) => `"${column}"`).join(', ')} ON "${table}"`;
  const create = [
    `CREATE TRIGGER "${table}_replace" BEFORE INSERT ON "${table}" ${note(same)}`,
    `CREATE TRIGGER "${table}_insert" AFTER INSERT ON "${table}" BEGIN
  SELECT RAISE(ABORT, '${CAPACITY_REACHED}') FROM storage ${row} AND used >= capacity AND NOT coalesce(replaced, 0);${nextRevision}
  UPDATE storage SET used = used + 1 - coalesce(replaced, 0), replaced = NULL, ${revision} ${row};
END`,
    `CREATE TRIGGER "${table}_update" AFTER UPDATE ON "${table}" BEGIN${nextRevision}
  UPDATE storage SET ${revision} ${row};
END`,
    `CREATE TRIGGER "${table}_delete" AFTER DELETE ON "${table}" BEGIN
  UPDATE storage SET used = used - 1, replaced = NULL, revision = revision + 1 ${row};
END`,
    `CREATE TRIGGER "${table}_move" BEFORE ${moves} ${note(`${same} AND id <> OLD.id`)}`,
    `CREATE TRIGGER "${table}_moved" AFTER ${moves} WHEN ${isReplacing} BEGIN
  UPDATE storage SET used = used - replaced, replaced = NULL ${row};
END`,
  ];
  // SQLite advances the sequence of ids only when a row is inserted.
  const renumber = `CREATE TRIGGER "${table}_renumber" AFTER UPDATE OF id ON "${table}" WHEN NEW.id > OLD.id BEGIN
  UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = '${table}';
END`;
  return next === undefined ? [...create, renumber] : create;
}

/** One call for each statement, after all its rows are locked: as in the service, the `storage` row is locked last. */
function postgresTriggers(table: string, { next }: IdKind): string[] {
  const row = `WHERE resource = '${table}'`;
  const sequence = `pg_get_serial_sequence('"${table}"', 'id')::regclass`;
  const hasSequence = next === undefined;
  const advance = `
  IF last_id > coalesce(pg_sequence_last_value(${sequence}), 0) THEN
    PERFORM setval(${sequence}, last_id);
  END IF;`;
  const body = `
DECLARE
  rows bigint := 0;
  added bigint := 0;
  lowest bigint;
  highest bigint;
  last_id bigint;
  stored storage%ROWTYPE;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE storage SET used = 0, revision = revision + 1 ${row};
    RETURN NULL;
  ELSIF TG_OP = 'DELETE' THEN
    SELECT count(*) INTO rows FROM old_rows;
    IF rows > 0 THEN
      UPDATE storage SET used = used - rows, revision = revision + rows ${row};
    END IF;
    RETURN NULL;
  END IF;
  SELECT count(*), min(revision), max(revision)${hasSequence ? ', max(id)' : ''} INTO rows, lowest, highest${hasSequence ? ', last_id' : ''} FROM new_rows;
  IF rows = 0 THEN
    RETURN NULL;
  ELSIF TG_OP = 'INSERT' THEN
    added := rows;
  END IF;
  UPDATE storage SET used = used + added, revision = highest
  ${row} AND revision < lowest AND revision + rows + ${LARGEST_STEP} >= highest RETURNING * INTO stored;
  IF NOT FOUND THEN
    UPDATE storage SET used = used + added ${row} RETURNING * INTO stored;
    UPDATE "${table}" AS record SET revision = stored.revision + written.place
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM new_rows) AS written WHERE record.id = written.id;
  END IF;
  IF added > 0 AND stored.used > stored.capacity THEN
    RAISE EXCEPTION '${CAPACITY_REACHED}' USING ERRCODE = 'check_violation';
  END IF;${hasSequence ? advance : ''}
  RETURN NULL;
END`;
  const name = functionName(table);
  const trigger = (event: string, rows: string): string =>
    `CREATE TRIGGER "${table}_${event.toLowerCase()}" AFTER ${event} ON "${table}" ${rows} FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`;
  return [
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $books$${body}$books$`,
    trigger('INSERT', 'REFERENCING NEW TABLE AS new_rows'),
    trigger('UPDATE', 'REFERENCING NEW TABLE AS new_rows'),
    trigger('DELETE', 'REFERENCING OLD TABLE AS old_rows'),
    trigger('TRUNCATE', ''),
  ];
}
