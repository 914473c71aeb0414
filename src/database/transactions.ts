import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
import { DiskFullError } from './errors.js';
import type { Sql } from './sql.js';

export interface TransactionOptions {
  /** Whether the transaction reclaims more space than it takes, as a delete does: then it may use the last of it. */
  readonly reclaimsSpace?: boolean;
}

/** How often a transaction is tried: the engine makes space in its log after a failure. */
const ATTEMPTS = 3;

/**
 * Runs `work` as one short transaction without TypeORM's query runner, for the paths that every request takes; where
 * entities are wanted, `dataSource.transaction` is as safe. It runs again when the volume was full and the engine could make
 * space: `work` must do nothing but use its argument.
 * @throws {DiskFullError} when there is no space left
 * @throws {DatabaseUnavailableError} when the database is locked past its time-out, or broken
 * @throws {OutcomeUnknownError} when nobody knows whether it was committed: it is never run again then
 */
export async function transaction<T>(
  dataSource: DataSource,
  work: (transaction: Sql) => Promise<T>,
  { reclaimsSpace = false }: TransactionOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await engineOf(dataSource).transaction(work, reclaimsSpace);
    } catch (error) {
      if (!(error instanceof DiskFullError) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Reads what is committed, outside any transaction and without waiting for writers. */
export function committed(dataSource: DataSource): Sql {
  return engineOf(dataSource).committed;
}
