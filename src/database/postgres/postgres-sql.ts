import type { QueryResult, QueryResultRow } from 'pg';
import { TypeORMError } from 'typeorm';
import { OutcomeUnknownError } from '../errors.js';
import type { Sql } from '../engine.js';
import { publishStatement } from '../database-events.js';
import { changesSession, type PostgresClient } from './connections/postgres-client.js';
import { publishEngineError } from './postgres-errors.js';

/** Runs SQL whose parameters are `$1`, `$2`, ... */
export class PostgresSql implements Sql {
  constructor(private readonly run: (sql: string, parameters: unknown[]) => Promise<unknown[]>) {}

  sql<Rows>(strings: TemplateStringsArray, ...values: unknown[]): Promise<Rows> {
    const text = strings.reduce((joined, part, index) => `${joined}$${index}${part}`);
    return this.run(text, values) as Promise<Rows>;
  }

  query<Rows>(sql: string, parameters: unknown[]): Promise<Rows> {
    return this.run(withNumberedParameters(sql), parameters) as Promise<Rows>;
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
  let failure: unknown;
  try {
    const result = await client.query<QueryResultRow>(sql, parameters);
    if (changesSession(sql)) client.mustClose = true;
    if (client.takeUnconfirmed()) throw new OutcomeUnknownError(UNCONFIRMED);
    return result;
  } catch (error) {
    failure = client.reasonOf(error as Error);
    publishEngineError(failure);
    throw failure;
  } finally {
    statementEnded(sql, performance.now() - started, failure);
  }
}

/** The protocol counts parameters with 16 bits. */
const MOST_PARAMETERS = 65_535;

/** @throws {TypeORMError} before anything is sent */
export function rejectTooManyParameters(parameters: unknown[] | undefined): void {
  // TypeORM rejects named parameters, which have no length.
  if (!Array.isArray(parameters) || parameters.length <= MOST_PARAMETERS) return;
  throw new TypeORMError(
    `The statement has ${parameters.length} parameters, and PostgreSQL takes ${MOST_PARAMETERS}: send it in parts, ` +
      'or the values as one array (= ANY($1))',
  );
}

export function statementEnded(sql: string, milliseconds: number, error?: unknown): void {
  publishStatement({ kind: READS.test(sql) ? 'read' : 'write', milliseconds, system: 'postgresql', sql, error });
}

export const UNCONFIRMED = 'The wait for the standby was cancelled: the commit may be lost with the primary';

/** Tells whether an autocommit statement may have changed data when its response is lost. */
export function mayWrite(sql: string): boolean {
  return !READS.test(sql) && !CHANGES_NOTHING.test(sql);
}

const CHANGES_NOTHING = /^\s*(SHOW|SET|RESET|BEGIN|START|ROLLBACK|SAVEPOINT|EXPLAIN(?!\s+\(?ANALY))\b/i;
export const READS = /^\s*SELECT\b(?![\s\S]*\bFOR\s+UPDATE\b)/i;

// A placeholder, or a quoted string or name, whose question marks are not placeholders.
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g;

/** Replaces each `?` by `$1`, `$2`, ... for PostgreSQL. */
function withNumberedParameters(sql: string): string {
  let count = 0;
  return sql.replace(TOKENS, (token) => (token === '?' ? `$${++count}` : token));
}
