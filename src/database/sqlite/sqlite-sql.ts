import { QueryFailedError } from 'typeorm';
import type { Sql } from '../sql.js';
import type { StatementResult } from './sqlite-connection.js';
import { rejectRoundedIntegers } from './portability/exact-integers.js';
import { translateSqliteError } from './sqlite-errors.js';

/** The SQL of each template, cached because templates are constants. */
const statements = new WeakMap<TemplateStringsArray, string>();

function textOf(strings: TemplateStringsArray): string {
  let statement = statements.get(strings);
  if (statement === undefined) {
    statement = strings.join('?');
    statements.set(strings, statement);
  }
  return statement;
}

/** Runs SQL with TypeORM's errors. */
export class SqliteSql implements Sql {
  constructor(
    private readonly run: (sql: string, parameters: unknown[]) => StatementResult | Promise<StatementResult>,
  ) {}

  sql<Rows>(strings: TemplateStringsArray, ...values: unknown[]): Promise<Rows> {
    return this.query(textOf(strings), values);
  }

  async query<Rows>(sql: string, parameters: unknown[]): Promise<Rows> {
    try {
      const pending = this.run(sql, parameters);
      const result = pending instanceof Promise ? await pending : pending;
      rejectRoundedIntegers(result);
      return (result.rows ?? []) as Rows;
    } catch (error) {
      throw explained(error, sql, parameters);
    }
  }
}

/** Converts an error to one that TypeORM code expects. */
export function explained(error: unknown, sql: string, values: unknown[]): unknown {
  const translated = translateSqliteError(error);
  if (translated !== undefined) return translated;
  return (error as { code?: string }).code === undefined ? error : new QueryFailedError(sql, values, error as Error);
}
