import type { EntityManager } from 'typeorm';
import { StorageAccount } from './storage.entity.js';
import { StorageFullError } from './errors.js';

/** A point in the history of one resource of one database; the material of ETags. */
export interface Version {
  readonly epoch: string;
  readonly revision: number;
}

/**
 * Capacity, count and revision of one resource. Every method takes the manager of the caller's transaction, so that the
 * account changes with the records or not at all.
 */
export class ResourceStorage {
  /**
   * @param resource the resource's plural name, for which a migration has made a `storage` row
   * @param capacity how many records it may hold
   */
  constructor(
    readonly resource: string,
    readonly capacity: number,
  ) {}

  /** The account as the transaction (or, with the data source's own manager, the last commit) sees it. */
  account(manager: EntityManager): Promise<StorageAccount> {
    return manager.findOneByOrFail(StorageAccount, { resource: this.resource });
  }

  /**
   * Takes one place for a record that the transaction creates.
   * @throws {StorageFullError} when none is free
   */
  async reserve(transaction: EntityManager): Promise<Version> {
    const [version] = await transaction.sql<Version[]>`
      UPDATE storage SET used = used + 1, revision = revision + 1
      WHERE resource = ${this.resource} AND used < ${this.capacity} RETURNING epoch, revision`;
    if (version === undefined) throw new StorageFullError(this.resource);
    return version;
  }

  /** Gives back the place of a record that the transaction deletes. */
  release(transaction: EntityManager): Promise<Version> {
    return one(transaction.sql<Version[]>`
      UPDATE storage SET used = used - 1, revision = revision + 1
      WHERE resource = ${this.resource} RETURNING epoch, revision`);
  }

  /** Notes that the transaction changes a record; that record takes the revision returned. */
  touch(transaction: EntityManager): Promise<Version> {
    return one(transaction.sql<Version[]>`
      UPDATE storage SET revision = revision + 1
      WHERE resource = ${this.resource} RETURNING epoch, revision`);
  }
}

async function one<T>(rows: Promise<T[]>): Promise<T> {
  const [row] = await rows;
  if (row === undefined) throw new Error('The resource has no row in the table "storage"; its migration must make one');
  return row;
}
