import type { DataSource, EntityManager } from 'typeorm';
import { DiskFullError } from './errors.js';

export interface TransactionOptions {
  /** Whether the transaction gives more room back than it takes, as a delete does: then it may use the last of it. */
  readonly freesRoom?: boolean;
}

/** How often a transaction is tried: the engine makes room after a failure, first from its log, then from its reserve. */
const ATTEMPTS = 3;

/**
 * Runs `work` as one transaction, like `dataSource.transaction`, and again when the volume was full and the engine could
 * make room. `work` must therefore do nothing but use its manager.
 * @throws {DiskFullError} when there is no room left
 */
export async function transaction<T>(
  dataSource: DataSource,
  work: (manager: EntityManager) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const runner = dataSource.createQueryRunner();
    runner.data = options;
    try {
      return await runner.manager.transaction(work);
    } catch (error) {
      if (!(error instanceof DiskFullError) || attempt === ATTEMPTS) throw error;
    } finally {
      await runner.release();
    }
  }
}
