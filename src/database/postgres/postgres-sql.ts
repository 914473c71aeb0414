import type { QueryResult, QueryResultRow } from 'pg';
import { TypeORMError } from 'typeorm';
import { OutcomeUnknownError } from '../errors.js';
import type { Sql } from '../engine.js';
import { logSlowStatement, SLOW_STATEMENT, type StatementEvent, statements } from '../database-events.js';
import { LEAD } from '../transaction-control.js';
import type { PostgresClient } from './connections/postgres-client.js';
import { publishEngineError } from './postgres-errors.js';
import { LRUCache } from 'lru-cache';

/** Runs SQL whose parameters are `$1`, `$2`, ... */
export class PostgresSql implements Sql {
  constructor(private readonly run: (sql: string, parameters: unknown[]) => Promise<unknown[]>) {}

  sql<Rows>(strings: TemplateStringsArray, ...values: unknown[]): Promise<Rows> {
    const text = strings.reduce((joined, part, index) => `${joined}$${index}${part}`);
    return this.run(text, values) as Promise<Rows>;
  }

  query<Rows>(sql: string, parameters: unknown[]): Promise<Rows> {
    return this.run(numbered(sql), parameters) as Promise<Rows>;
  }
}

/**
 * Runs one statement, or several without parameters.
 * @throws errors of node-postgres; `explained` converts them
 */
export async function execute(
  client: PostgresClient,
  sql: string,
  parameters: unknown[] | undefined,
): Promise<QueryResult<QueryResultRow>> {
  rejectTooManyParameters(parameters);
  const started = performance.now();
  try {
    const result = await client.query<QueryResultRow>(sql, parameters);
    if (changesSession(sql)) client.hasOwnState = true;
    if (client.takeUnconfirmed()) throw new OutcomeUnknownError(UNCONFIRMED);
    return result;
  } catch (error) {
    publishEngineError(error);
    throw error;
  } finally {
    statementEnded(sql, performance.now() - started);
  }
}

/** The protocol counts parameters with 16 bits. */
const MOST_PARAMETERS = 65_535;

/** @throws {TypeORMError} before anything is sent */
export function rejectTooManyParameters(parameters: unknown[] | undefined): void {
  if (parameters === undefined || parameters.length <= MOST_PARAMETERS) return;
  throw new TypeORMError(
    `The statement has ${parameters.length} parameters, and PostgreSQL takes ${MOST_PARAMETERS}: send it in parts, or the values as one array (= ANY($1))`,
  );
}

/** Publishes the duration of a statement, and logs it if it was slow. */
export function statementEnded(sql: string, milliseconds: number): void {
  const kind = READS.test(sql) ? 'read' : 'write';
  statements.publish({ kind, milliseconds } satisfies StatementEvent);
  if (milliseconds > SLOW_STATEMENT) logSlowStatement(sql, milliseconds);
}

export const UNCONFIRMED = 'The wait for the standby was cancelled: what was committed may be lost with the primary';
/** Tells whether an autocommit statement may have changed data when its response is lost. */
export function mayWrite(sql: string): boolean {
  return !READS.test(sql) && !CHANGES_NOTHING.test(sql);
}

const CHANGES_NOTHING = /^\s*(SHOW|SET|RESET|BEGIN|START|ROLLBACK|SAVEPOINT|EXPLAIN(?!\s+\(?ANALY))\b/i;
export const READS = /^\s*SELECT\b(?![\s\S]*\bFOR\s+UPDATE\b)/i;

/**
 * Statements that change the session. `SET LOCAL`, `SET TRANSACTION` and `SET CONSTRAINTS` end with their transaction.
 */
const CHANGES_SESSION =
  /^(?:SET\s+(?!LOCAL\b|TRANSACTION\b|CONSTRAINTS\b)|RESET\b|(?:UN)?LISTEN\b|LOAD\b|DISCARD\b|DEALLOCATE\b|PREPARE\s+(?!TRANSACTION\b)|CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+|LOCAL\s+)?TEMP|DECLARE\b.*\bWITH\s+HOLD\b)/is;
/** Session locks, and `set_config` with anything but `true`. */
const CALL_THAT_CHANGES_SESSION =
  /\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(|\bset_config\s*\((?![^()]*,\s*true\s*\))|\bINTO\s+TEMP/i;

/** Tells whether a statement leaves a setting, a lock or a temporary table on its connection after the transaction. */
export function changesSession(sql: string): boolean {
  return CHANGES_SESSION.test(sql.slice(LEAD.exec(sql)![0].length)) || CALL_THAT_CHANGES_SESSION.test(sql);
}

export const NEEDS_A_SESSION =
  'This changes the session of a connection, and outside a transaction the next statement may run on another one, which strangers have used. Use SET LOCAL, ' +
  'pg_advisory_xact_lock or ON COMMIT DROP inside dataSource.transaction(...), or a query runner of your own ' +
  '(dataSource.createQueryRunner()), whose connection is closed when it is released';

const converted = new LRUCache<string, string>({ max: 1000 });

// A placeholder, or a quoted string or name, in which a question mark is none.
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g;

/** Replaces each `?` by `$1`, `$2`, ... for PostgreSQL. */
function numbered(sql: string): string {
  let statement = converted.get(sql);
  if (statement === undefined) {
    let count = 0;
    statement = sql.replace(TOKENS, (token) => (token === '?' ? `$${++count}` : token));
    converted.set(sql, statement);
  }
  return statement;
}
