import { QueryResult } from 'typeorm';
import type { StatementResult } from '../sqlite-connection.js';

/** The result of a statement as TypeORM's query runners give it. */
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
