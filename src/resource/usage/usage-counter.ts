import type { Sql } from '../../database/sql.js';
import type { ReportedResource } from '../../management/reported-resources.js';
import { StorageFullError } from './storage-full-error.js';
import { readableName } from '../resource-name.js';

/** A point in the history of one resource of one database; the material of ETags. */
export interface Version {
  readonly epoch: string;
  readonly revision: number;
}

/** What a resource holds at a point in its history. */
export interface ResourceUsage extends Version {
  /** Records stored. */
  readonly count: number;
}

/**
 * Capacity, count and revision of one resource. Every method takes the caller's transaction (an `EntityManager` of TypeORM
 * is one, too), so that they change with the records or not at all.
 */
export class UsageCounter implements ReportedResource {
  /** Whether its row was there when last looked for. */
  hasRow = false;

  /**
   * @param resource the resource's plural name, for which a migration has made a `storage` row
   * @param capacity how many records it may hold
   */
  constructor(
    readonly resource: string,
    readonly capacity: number,
  ) {}

  /** What the resource is called, for the reader: `gift cards`. */
  get text(): string {
    return readableName(this.resource);
  }

  /** What the transaction sees. */
  usage(transaction: Sql): Promise<ResourceUsage> {
    return this.one(transaction.sql<ResourceUsage[]>`
      SELECT epoch, revision, used AS count FROM storage WHERE resource = ${this.resource}`);
  }

  /**
   * Takes one place for a record that the transaction creates.
   * @throws {StorageFullError} when none is free
   */
  async reserve(transaction: Sql): Promise<Version> {
    const [version] = await this.reserveMany(transaction, 1);
    return version!;
  }

  /**
   * Takes places for all records that the transaction creates, or none.
   * @returns a version for each record, each one revision above the last
   * @throws {StorageFullError} when fewer are free
   */
  async reserveMany(transaction: Sql, count: number): Promise<Version[]> {
    const versions = await this.take(transaction, count);
    if (versions === undefined) throw new StorageFullError(this.resource);
    return versions;
  }

  /**
   * Takes places for as many of `count` records as are free.
   * @returns a version for each record that has a place, each one revision above the last
   */
  async reserveUpTo(transaction: Sql, count: number): Promise<Version[]> {
    const all = await this.take(transaction, count);
    if (all !== undefined) return all;
    const versions: Version[] = [];
    while (versions.length < count) {
      const next = await this.take(transaction, 1);
      if (next === undefined) break;
      versions.push(...next);
    }
    return versions;
  }

  private async take(transaction: Sql, count: number): Promise<Version[] | undefined> {
    const [last] = await transaction.sql<Version[]>`
      UPDATE storage SET used = used + ${count}, revision = revision + ${count}
      WHERE resource = ${this.resource} AND used <= ${this.capacity - count} RETURNING epoch, revision`;
    if (last === undefined) {
      // Full, or without a row: that is no matter of capacity, and throws.
      await this.usage(transaction);
      return undefined;
    }
    return Array.from({ length: count }, (_, index) => ({ ...last, revision: last.revision - count + 1 + index }));
  }

  /** Gives back the places of records that the transaction deletes. */
  release(transaction: Sql, count = 1): Promise<Version> {
    return this.one(transaction.sql<Version[]>`
      UPDATE storage SET used = used - ${count}, revision = revision + ${count}
      WHERE resource = ${this.resource} RETURNING epoch, revision`);
  }

  /** Notes changes of the transaction, each to a record; the record of the last one takes the revision returned. */
  touch(transaction: Sql, count = 1): Promise<Version> {
    return this.one(transaction.sql<Version[]>`
      UPDATE storage SET revision = revision + ${count}
      WHERE resource = ${this.resource} RETURNING epoch, revision`);
  }

  private async one<T>(rows: Promise<T[]>): Promise<T> {
    const [row] = await rows;
    if (row === undefined) throw this.rowMissing();
    this.hasRow = true;
    return row;
  }

  /** The error of a caller that finds no row for the resource. The service is not ready from then on, until there is one. */
  rowMissing(): Error {
    this.hasRow = false;
    return new Error(
      `The table "storage" has no row for "${this.resource}", without which nothing can be written: the migration that ` +
        'creates the resource must insert it; if it was deleted, restore a backup',
    );
  }
}
