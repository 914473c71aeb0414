import type { Sql } from '../../database/sql.js';
import type { ReportedResource } from '../../management/reported-resources.js';
import { StorageFullError } from './storage-full-error.js';
import { readableName } from '../resource-name.js';

/** The version of a record or of a resource; ETags contain it. */
export interface Version {
  readonly epoch: string;
  readonly revision: number;
}

/** Version and count of a resource. */
export interface ResourceUsage extends Version {
  /** Number of records. */
  readonly count: number;
}

/**
 * Updates count and revision of one resource in the caller's transaction, which may be an `EntityManager` of TypeORM, and
 * enforces its capacity.
 */
export class UsageCounter implements ReportedResource {
  /** Tells whether the last statement found the `storage` row. */
  hasRow = false;

  /**
   * @param resource the resource's plural name, for which a migration has made a `storage` row
   * @param capacity how many records it may hold
   */
  constructor(
    readonly resource: string,
    readonly capacity: number,
  ) {}

  /** Plural name in messages: `gift cards`. */
  get text(): string {
    return readableName(this.resource);
  }

  /** Version and count as the transaction sees them. */
  usage(transaction: Sql): Promise<ResourceUsage> {
    return this.one(transaction.sql<ResourceUsage[]>`
      SELECT epoch, revision, used AS count FROM storage WHERE resource = ${this.resource}`);
  }

  /**
   * Increments the count for one new record.
   * @throws {StorageFullError} when the capacity is reached
   */
  async reserve(transaction: Sql): Promise<Version> {
    const [version] = await this.reserveMany(transaction, 1);
    return version!;
  }

  /**
   * Increments the count for several new records, or for none.
   * @returns a version for each record, each one revision above the last
   * @throws {StorageFullError} when they exceed the capacity
   */
  async reserveMany(transaction: Sql, count: number): Promise<Version[]> {
    const versions = await this.take(transaction, count);
    if (versions === undefined) throw new StorageFullError(this.resource);
    return versions;
  }

  /**
   * Increments the count for as many of `count` records as fit.
   * @returns a version for each record that fits; revisions ascend by one
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
      // The capacity is reached, or `usage` throws because there is no row.
      await this.usage(transaction);
      return undefined;
    }
    return Array.from({ length: count }, (_, index) => ({ ...last, revision: last.revision - count + 1 + index }));
  }

  /** Decrements the count for deleted records. */
  release(transaction: Sql, count = 1): Promise<Version> {
    return this.one(transaction.sql<Version[]>`
      UPDATE storage SET used = used - ${count}, revision = revision + ${count}
      WHERE resource = ${this.resource} RETURNING epoch, revision`);
  }

  /** Increments the revision for changed records; returns the version of the last one. */
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

  /** The error for a missing `storage` row. The service is not ready until the row exists. */
  rowMissing(): Error {
    this.hasRow = false;
    return new Error(
      `The table "storage" has no row for "${this.resource}", without which nothing can be written: the migration that ` +
        'creates the resource must insert it; if it was deleted, restore a backup',
    );
  }
}
