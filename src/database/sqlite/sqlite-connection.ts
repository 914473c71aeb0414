import { setTimeout } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { TypeORMError } from 'typeorm';
import { engineErrors, publishStatement } from '../database-events.js';
import { type Database, openDatabase, type Statement } from './better-sqlite3.js';
import { engineErrorOf, isBusy, translated, withQuota } from './sqlite-errors.js';
import { UnstorableValueError } from '../columns.js';
import { UnsafeIntegerError } from '../errors.js';

export type Row = Record<string, unknown>;

/** Result of a statement: its rows, or the number of changed rows and the last inserted id. */
export interface StatementResult {
  readonly rows?: Row[];
  readonly changes: number;
  readonly lastInsertRowid?: number;
}

/** Limits of the cached statements in number and in characters of SQL, each of which takes some 40 bytes. */
const CACHED_STATEMENTS = 500;
const CACHED_CHARACTERS = 1_000_000;

const REBUILD_STEP = /^\s*(?:ALTER|DROP)\s+TABLE\b/i;

/** The rename of the old table, before a rebuilt one gets its name. */
const SET_ASIDE = /^\s*ALTER\s+TABLE\b.*\bRENAME\s+TO\b.*\btemporary_/is;

/** The removal of a table: in a rebuild, after its rows were copied. */
const REMOVAL = /^\s*DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?["`[]?([^"`\];]+?)["`\]]?[\s;]*$/i;

/** Selects the tables that refer to a table. */
export const REFERRING =
  'SELECT child.name FROM sqlite_schema AS child, pragma_foreign_key_list(child.name) AS key ' +
  `WHERE child.type = 'table' AND key."table" = ? COLLATE NOCASE`;

/** The error for the removal of a table outside a migration: SQLite would delete or change the rows that refer to it. */
export const referredTo = (table: string, child: string): TypeORMError =>
  new TypeORMError(
    `The table "${table}" cannot be rebuilt or dropped here, because rows of "${child}" may refer to it: do it in a ` +
      'migration, or call beforeMigration() of the query runner before startTransaction()',
  );

/** Prefix of the name of a table during its rebuild. */
const TEMPORARY = 'temporary_';

/** One connection with its prepared statements. It never waits for a lock, which would block the event loop. */
export class SqliteConnection {
  readonly database: Database;
  private readonly statements = new LRUCache<string, Statement>({
    max: CACHED_STATEMENTS,
    maxSize: CACHED_CHARACTERS,
    sizeCalculation: (_statement, sql) => sql.length,
    memoMethod: (sql) => this.database.prepare(sql).safeIntegers(),
  });

  constructor(path: string, { readonly }: { readonly: boolean }) {
    this.database = openDatabase(path, { readonly, fileMustExist: readonly, timeout: 0 });
  }

  /** @throws SqliteError, or a RangeError for several statements in one string */
  prepare(sql: string): Statement {
    return this.statements.memo(sql);
  }

  /** @throws SqliteError */
  run(sql: string, parameters: readonly unknown[] = []): StatementResult {
    const started = performance.now();
    let failure: unknown;
    try {
      return REBUILD_STEP.test(sql) ? this.rebuildStep(sql) : this.execute(sql, parameters);
    } catch (error) {
      failure = withQuota(error, this.database.name);
      const kind = engineErrorOf(failure);
      if (kind !== undefined) engineErrors.publish(kind);
      throw failure;
    } finally {
      const milliseconds = performance.now() - started;
      const kind = this.database.readonly ? 'read' : 'write';
      publishStatement({ kind, milliseconds, system: 'sqlite', sql, error: failure });
    }
  }

  private execute(sql: string, parameters: readonly unknown[]): StatementResult {
    const statement = this.prepare(sql);
    const bound = parameters.map(bindable);
    if (!statement.reader) {
      const { changes, lastInsertRowid } = statement.run(...bound);
      return { changes, lastInsertRowid: Number(lastInsertRowid) };
    }
    const rows = (statement.all(...bound) as Row[]).map(withNumbers);
    return { rows, changes: rows.length };
  }

  /** Runs `ALTER TABLE` or `DROP TABLE`, which with foreign keys off may be a step of a rebuild. */
  private rebuildStep(sql: string): StatementResult {
    const { database } = this;
    const removed = REMOVAL.exec(sql)?.[1];
    if (database.pragma('foreign_keys', { simple: true }) !== 0) {
      if (removed !== undefined) this.rejectReferredTo(removed);
      return this.execute(sql, []);
    }
    if (removed !== undefined) this.keepSequence(removed);
    // With this pragma, foreign keys of other tables keep the old name, which the rebuilt table gets afterwards
    // (https://sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes").
    if (SET_ASIDE.test(sql)) database.pragma('legacy_alter_table = ON');
    try {
      return this.execute(sql, []);
    } finally {
      database.pragma('legacy_alter_table = OFF');
    }
  }

  private rejectReferredTo(table: string): void {
    const referring = this.database.prepare(REFERRING).all(table) as { name: string }[];
    const child = referring.find(({ name }) => name.toLowerCase() !== table.toLowerCase());
    if (child !== undefined) throw referredTo(table, child.name);
  }

  /** Passes the last given id on to a rebuilt table, whose sequence has only the ids of the copied rows. */
  private keepSequence(old: string): void {
    const rebuilt = old.startsWith(TEMPORARY) ? old.slice(TEMPORARY.length) : TEMPORARY + old;
    this.database
      .prepare(
        `UPDATE sqlite_sequence SET seq = max(sqlite_sequence.seq, old.seq)
         FROM (SELECT seq FROM sqlite_sequence WHERE name = ?) AS old WHERE name = ?`,
      )
      .run(old, rebuilt);
  }
}

/**
 * The value as PostgreSQL stores it: better-sqlite3 takes no dates, booleans and objects, and version 12 writes a lone
 * surrogate, such as that of a text cut inside an emoji, as bytes that are no UTF-8. It binds every number as a
 * floating-point number: 5 would be the text 5.0, and its half 2.5. An integer becomes a BigInt.
 */
function bindable(value: unknown): unknown {
  rejectUnstorable(value);
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return BigInt(value as number | boolean);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) throw new TypeORMError(ARRAY);
  if (value instanceof Date) return value.toISOString().replace('T', ' ').slice(0, -1);
  const json = JSON.stringify(value);
  // The object of a date library becomes a quoted text, which sorts before every stored instant.
  if (/^"/.test(json))
    throw new TypeORMError(`SQLite takes no object such as ${json} as a parameter: give a Date or a text`);
  return json;
}

const ARRAY =
  'SQLite takes no array as a parameter: write one ? for each of its values, or give JSON.stringify(...) of it';

/** @throws {UnstorableValueError} for NaN, which would become NULL, and for a year that has no four digits */
export function rejectUnstorable(value: unknown): void {
  if (Number.isNaN(value)) throw new UnstorableValueError('NaN is no number: SQLite would take it for NULL', 'NaN');
  if (!(value instanceof Date)) return;
  const year = value.getUTCFullYear();
  if (year >= 0 && year <= 9999) return;
  throw new UnstorableValueError(
    `SQLite cannot store the date ${String(value)}: its year must be from 0 to 9999`,
    String(value),
  );
}

/** Milliseconds to wait after this many attempts that met the lock of another process. */
export function retryDelay(attempts: number): number {
  return Math.min(2 ** attempts, 25);
}

/**
 * Repeats `attempt` while the database file is locked. The event loop runs between attempts.
 * @returns a promise if the first attempt has met a lock
 * @throws {DatabaseUnavailableError} when the file is still locked after `timeout` milliseconds
 */
export function retryWhileBusy<T>(
  attempt: () => T,
  timeout: number,
  deadline = performance.now() + timeout,
  attempts = 0,
): T | Promise<T> {
  try {
    return attempt();
  } catch (error) {
    if (!isBusy(error)) throw error;
    if (performance.now() >= deadline) throw translated(error);
    return setTimeout(retryDelay(attempts)).then(() => retryWhileBusy(attempt, timeout, deadline, attempts + 1));
  }
}

/**
 * A copy of a row with its integers as numbers. V8 would compile a loop that changes the row itself again and again.
 * @throws {UnsafeIntegerError} for one beyond 2^53 - 1
 */
function withNumbers(row: Row): Row {
  const copy: Row = {};
  for (const column of Object.keys(row)) {
    const value = row[column];
    copy[column] = typeof value === 'bigint' ? safeNumber(value) : value;
  }
  return copy;
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new UnsafeIntegerError(String(value));
  return number;
}
