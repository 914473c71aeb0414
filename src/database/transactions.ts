import type { DataSource } from 'typeorm';
import { engineOf } from './engine.js';
import { ConnectionLostError, DiskFullError } from './errors.js';
import type { Snapshot, Sql } from './sql.js';

export type { Snapshot };

export interface TransactionOptions {
  /** Whether the transaction frees space, as a delete does. Then it may use the last space of the volume. */
  readonly reclaimsSpace?: boolean;
}

/** Attempts of a transaction on a full volume, after each of which the engine makes space, and of a read. */
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

/**
 * Advances the id sequence of a table beyond `id`, if it is not there yet. The caller holds the lock of the resource's
 * `storage` row, so no new id is assigned meanwhile.
 */
export function advanceIdSequence(dataSource: DataSource, transaction: Sql, table: string, id: number): Promise<void> {
  return engineOf(dataSource).advanceIdSequence(transaction, table, id);
}

/** @throws {DatabaseUnavailableError} when too many snapshots are open */
export function openSnapshot(dataSource: DataSource): Promise<Snapshot> {
  return repeatRead(() => engineOf(dataSource).openSnapshot());
}

/**
 * Runs a read, and again if its connection broke: a pooled connection may lead to a stopped server. `read` must not
 * have sent anything to the client when it rejects.
 */
export async function repeatRead<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ConnectionLostError) || attempt === ATTEMPTS) throw error;
    }
  }
}
