import { DataSource, type ObjectLiteral, type QueryRunner, TypeORMError } from 'typeorm';

/** White space, empty statements and comments, as tracing tools put them before a statement (sqlcommenter). */
export const LEAD = /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*/;

/** One statement that begins or ends a transaction, or a part of one, and nothing after it. */
const CONTROL = /^(?:BEGIN|START\s+TRANSACTION|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE)\b[^;]*[;\s]*$/i;

const NO_RUNNER =
  'Without a query runner of its own, a transaction ends with the statement that begins it. Use ' +
  'dataSource.transaction(...), or call startTransaction() on the result of dataSource.createQueryRunner()';

/**
 * A data source that rejects transaction control where it can't have its meaning: `query` takes a connection for one
 * statement and gives it back, so a `BEGIN` would be undone at once, or would take in the statements of others. The managers and
 * repositories of the data source call this `query`, too, outside a transaction.
 */
export class GuardedDataSource extends DataSource {
  /** @throws {TypeORMError} for `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT` and the like without a query runner */
  override async query<T>(sql: string, parameters?: unknown[] | ObjectLiteral, queryRunner?: QueryRunner): Promise<T> {
    if (queryRunner === undefined && isTransactionControl(sql)) throw new TypeORMError(NO_RUNNER);
    return super.query<T>(sql, parameters, queryRunner);
  }
}

function isTransactionControl(sql: string): boolean {
  return CONTROL.test(sql.slice(LEAD.exec(sql)![0].length));
}
