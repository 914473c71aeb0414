import type { Config } from '../config/config.js';
import type { Sql } from '../database/sql.js';
import type { ResourceUsage } from '../storage/resource-storage.js';
import type { ListSnapshot, ListSource } from './lists/resource-lists.js';
import { found } from './not-found.js';
import type { Preconditions } from './preconditions.js';
import type { ResourceName } from './resource-name.js';
import type { NewRecord, RecordChanges, ResourceEntity, StoredRecord } from './store/resource-entity.js';
import type { ResourceStore } from './store/resource-store.js';
import type { ResourceTransaction } from './store/resource-transaction.js';

/**
 * What can be done with the records of a resource that has no rules of its own; the service of one that has some calls it, or
 * the store. Every method may also throw `DatabaseUnavailableError`, and every write `DiskFullError`; nothing has changed then.
 * After `OutcomeUnknownError`, which every write may throw, nobody knows.
 */
export class ResourceService<Entity extends ResourceEntity> implements ListSource {
  constructor(
    private readonly name: ResourceName,
    private readonly store: ResourceStore<Entity>,
    private readonly config: Config,
  ) {}

  /** @throws {ResourceNotFoundError} */
  async get(id: number): Promise<StoredRecord<Entity>> {
    return found(this.name, id, await this.store.find(id));
  }

  /** @throws {StorageFullError} when as many records are stored as may be */
  create(values: NewRecord<Entity>): Promise<StoredRecord<Entity>> {
    return this.store.create(values);
  }

  /**
   * Changes the properties that are present.
   * @throws {ResourceNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  async update(
    id: number,
    changes: RecordChanges<Entity>,
    preconditions: Preconditions,
  ): Promise<StoredRecord<Entity>> {
    return found(this.name, id, await this.store.update(id, changes, preconditions.forWrite(this.config)));
  }

  /**
   * Deletes a record and frees its place.
   * @throws {ResourceNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  async delete(id: number, preconditions: Preconditions): Promise<void> {
    found(this.name, id, await this.store.delete(id, preconditions.forWrite(this.config)));
  }

  /** The same for a transaction of the caller, which may be one of several resources; it knows no preconditions. */
  in(transaction: Sql): ResourceTransaction<Entity> {
    return this.store.in(transaction);
  }

  usage(): Promise<ResourceUsage> {
    return this.store.usage();
  }

  readSnapshot<T>(read: (snapshot: ListSnapshot) => Promise<T>): Promise<T> {
    return this.store.readSnapshot(read);
  }
}
