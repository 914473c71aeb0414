import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

/** One committed state of the database, unchanged by whatever is written meanwhile, until it is closed. */
export class Snapshot {
  private constructor(private readonly runner: QueryRunner) {}

  /** @throws {DatabaseUnavailableError} when too many are open */
  static async open(dataSource: DataSource): Promise<Snapshot> {
    const runner = dataSource.createQueryRunner('slave');
    await runner.startTransaction();
    return new Snapshot(runner);
  }

  get manager(): EntityManager {
    return this.runner.manager;
  }

  /** Lets go of the state; a second call does nothing. */
  async close(): Promise<void> {
    if (this.runner.isTransactionActive) await this.runner.rollbackTransaction();
    await this.runner.release();
  }
}
