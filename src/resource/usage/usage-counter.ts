import type { Dialect, Sql } from '../../database/engine.js';
import { ApiError, STORAGE_FULL } from '../../http/errors/api-error.js';
import type { ReportedResource } from '../../management/reported-resources.js';
import type { Version } from '../resource-entity.js';
import { readableName } from '../resource.js';

export interface ResourceUsage extends Version {
  readonly count: number;
}

export interface LockedUsage extends Version {
  /** Number of free places; negative if the capacity was lowered. */
  readonly free: number;
}

/** 507: the resource has reached its capacity. */
export class StorageFullError extends ApiError {
  constructor(readonly resource: string) {
    super(507, 'STORAGE_FULL', STORAGE_FULL);
    this.name = 'StorageFullError';
  }
}

/** Reads count, revision and capacity of one resource. The triggers of its table update them. */
export class UsageCounter implements ReportedResource {
  readonly text = readableName(this.resource);
  /** `ResourceTable.layout`; empty if the resource has no such table. */
  layout = '';

  /** @param resource the plural name, for which a migration has made a `storage` row */
  constructor(
    readonly resource: string,
    public capacity: number,
    readonly audited = false,
  ) {}

  usage(transaction: Sql): Promise<ResourceUsage> {
    return this.checkedRow(transaction.sql<ResourceUsage[]>`
      SELECT epoch, revision, used AS count FROM storage WHERE resource = ${this.resource}`);
  }

  /**
   * Locks the `storage` row until the transaction ends, so that no other transaction takes a revision. The caller
   * writes records with greater revisions. The triggers of the table then change the row.
   */
  lock(transaction: Sql, dialect: Dialect): Promise<LockedUsage> {
    const free = `coalesce(capacity, ${this.capacity}) - used AS free`;
    const select = `SELECT epoch, revision, ${free} FROM storage WHERE resource = ?${dialect.forUpdate('storage')}`;
    return this.checkedRow(transaction.query<LockedUsage[]>(select, [this.resource]));
  }

  /**
   * The version of a record or of the resource. Its epoch names the layout of the records, too.
   * @throws {Error} without a `storage` row; the service is not ready until it exists
   */
  versionOf(row?: { readonly epoch: string | null; readonly revision: number }): Version {
    if (typeof row?.epoch === 'string') return { epoch: row.epoch + this.layout, revision: row.revision };
    throw new Error(
      `The table "storage" has no row for "${this.resource}", without which nothing can be written: the migration that ` +
        'creates or renames the resource must write it; if it was deleted, restore a backup',
    );
  }

  private async checkedRow<T extends Version>(rows: Promise<T[]>): Promise<T> {
    const [row] = await rows;
    return { ...row!, ...this.versionOf(row) };
  }
}
