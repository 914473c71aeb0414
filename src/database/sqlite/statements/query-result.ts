import { QueryResult } from 'typeorm';
import type { StatementResult } from '../sqlite-connection.js';

/** Converts the result of a statement to that of TypeORM's query runners. */
export function toQueryResult({ rows, changes, lastInsertRowid }: StatementResult): QueryResult {
  const result = new QueryResult();
  if (rows !== undefined) {
    result.raw = rows;
    result.records = rows;
  } else {
    result.raw = lastInsertRowid;
    result.affected = changes;
  }
  return result;
}
