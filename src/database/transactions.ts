import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
import { DiskFullError } from './errors.js';
import type { Sql } from './sql.js';

export interface TransactionOptions {
  /** Whether the transaction frees space, as a delete does. Then it may use the last space of the volume. */
  readonly reclaimsSpace?: boolean;
}

/** Attempts in all: the engine makes space in its log after a failure. */
const ATTEMPTS = 3;

/**
 * Runs `work` as one short transaction without TypeORM's query runner. It runs again if the volume was full and the
 * engine made space, so `work` must only use its argument. For entities, `dataSource.transaction` is as safe.
 * @throws {DiskFullError} when there is no space left
 * @throws {DatabaseUnavailableError} when the database is locked longer than its time-out, or damaged
 * @throws {OutcomeUnknownError} when the outcome of the commit is unknown
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

/** Reads committed data outside any transaction, without waiting for writers. */
export function committed(dataSource: DataSource): Sql {
  return engineOf(dataSource).committed;
}
