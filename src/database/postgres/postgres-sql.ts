import { type Sql, sqlOf } from '../engine.js';

/** Makes an `Sql` from a function that runs SQL whose parameters are `$1`, `$2`, ... */
export function postgresSql(run: (sql: string, parameters: unknown[]) => Promise<unknown[]>): Sql {
  return sqlOf((sql, parameters) => run(withNumberedParameters(sql), parameters));
}

/** Tells whether an autocommit statement may have changed data when its response is lost. */
export function mayWrite(sql: string): boolean {
  return !READS.test(sql) && !CHANGES_NOTHING.test(sql);
}

const CHANGES_NOTHING = /^\s*(SHOW|SET|RESET|BEGIN|START|ROLLBACK|SAVEPOINT|EXPLAIN(?!\s+\(?ANALY))\b/i;
export const READS = /^\s*SELECT\b(?![\s\S]*\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b)/i;

// A placeholder, or a quoted string or name, whose question marks are not placeholders.
const TOKENS = /'[^']*'|"[^"]*"|\?/g;

/** Replaces each `?` by `$1`, `$2`, ... for PostgreSQL. */
function withNumberedParameters(sql: string): string {
  let count = 0;
  return sql.replace(TOKENS, (token) => (token === '?' ? `$${++count}` : token));
}
