import { AsyncLocalStorage } from 'node:async_hooks';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { mayWrite } from './postgres-sql.js';

type Work = (manager: EntityManager) => Promise<unknown>;
type RunTransaction = (...parameters: [...unknown[], Work]) => Promise<unknown>;

/**
 * Tells in the log of writes that go past the transaction around them: through a repository that is not of its manager, they
 * are stored even where the transaction is rolled back. On SQLite such a write is an error. For development: to know what is
 * called from where costs time with every promise.
 */
export class OutsideWrites {
  private readonly transactions = new AsyncLocalStorage<QueryRunner>();

  constructor(private readonly dataSource: DataSource) {
    const { manager } = dataSource;
    const runTransaction = manager.transaction.bind(manager) as RunTransaction;
    // TypeORM gives no hook; `dataSource.transaction` comes here, too.
    manager.transaction = (...parameters: [...unknown[], Work]) => {
      const work = parameters.pop() as Work;
      return runTransaction(...parameters, (inner) => this.transactions.run(inner.queryRunner!, () => work(inner)));
    };
  }

  /** @param runner of the statement; absent for a transaction of its own */
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
