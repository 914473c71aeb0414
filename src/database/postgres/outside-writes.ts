import { AsyncLocalStorage } from 'node:async_hooks';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { mayWrite } from './postgres-sql.js';

type Work = (manager: EntityManager) => Promise<unknown>;
type RunTransaction = (...parameters: [...unknown[], Work]) => Promise<unknown>;

/**
 * Logs writes that bypass the transaction around them, through a repository of another manager: they remain when the
 * transaction is rolled back. On SQLite such a write is an error. Only for development, because `AsyncLocalStorage`
 * costs time with every promise.
 */
export class OutsideWrites {
  private readonly transactions = new AsyncLocalStorage<QueryRunner>();

  constructor(private readonly dataSource: DataSource) {
    const { manager } = dataSource;
    const runTransaction = manager.transaction.bind(manager) as RunTransaction;
    // TypeORM has no hook for this. `dataSource.transaction` calls the manager, too.
    manager.transaction = (...parameters: [...unknown[], Work]) => {
      const work = parameters.pop() as Work;
      return runTransaction(...parameters, (inner) => this.transactions.run(inner.queryRunner!, () => work(inner)));
    };
  }

  /** @param runner the query runner of the statement, if it has one */
  check(runner: QueryRunner | undefined, sql: string): void {
    const around = this.transactions.getStore();
    if (around === undefined || around === runner || !around.isTransactionActive || !mayWrite(sql)) return;
    this.dataSource.logger.log(
      'warn',
      'A write goes past the transaction that it is called in, and stays when that is rolled back; use the manager that ' +
        `dataSource.transaction(...) passes: ${sql}`,
    );
  }
}
