import { type DataSource, QueryFailedError, type Repository } from 'typeorm';
import type { Config } from '../../config/config.js';
import { Batcher } from '../../database/batcher.js';
import { repeatRead } from '../../database/repeat-read.js';
import { openSnapshot } from '../../database/snapshot.js';
import type { Sql } from '../../database/sql.js';
import { committed, transaction, type TransactionOptions } from '../../database/transactions.js';
import { found } from '../not-found.js';
import { NO_PRECONDITIONS, type Preconditions } from '../preconditions.js';
import type { ResourceName } from '../resource-name.js';
import type { UsageCounter, ResourceUsage } from '../usage/usage-counter.js';
import type {
  NewRecord,
  RecordChanges,
  RecordDeletion,
  RecordUpdate,
  ResourceEntity,
  StoredRecord,
} from './resource-entity.js';
import { References } from './references.js';
import { ResourceSnapshot } from './resource-snapshot.js';
import { placeholders, ResourceTable } from './resource-table.js';
import { ResourceTransaction } from './resource-transaction.js';
import { findRecord, type Row, storedRecord } from './stored-record.js';

/** Writes of one transaction at most. */
const LARGEST_WRITE = 100;

const DELETES: TransactionOptions = { reclaimsSpace: true };

/** Makes several writes, each with its own outcome. */
type BatchWrite<Entity extends ResourceEntity, Item, Result> = (
  transaction: ResourceTransaction<Entity>,
  items: Item[],
) => Promise<(Result | Error)[]>;

/**
 * The records of one resource: what clients see of them, their versions and their number, exact under any concurrency. Every
 * method may throw `DatabaseUnavailableError`, and every write `DiskFullError`; nothing has changed then. After
 * `OutcomeUnknownError`, which every write may throw, nobody knows. It needs no Nest: the command line uses it, too.
 */
export class ResourceRepository<Entity extends ResourceEntity> {
  readonly table: ResourceTable;
  /** Those of its records to the records of other resources. */
  readonly references: References;

  // Writes that wait together share a transaction; each has its own outcome.
  private readonly creates: Batcher<NewRecord<Entity>, StoredRecord<Entity>>;
  private readonly updates?: Batcher<RecordUpdate<Entity>, StoredRecord<Entity> | undefined>;
  private readonly deletions?: Batcher<RecordDeletion, boolean>;
  private readonly reads?: Batcher<number, StoredRecord<Entity> | undefined>;

  /**
   * @param repository of an entity whose table has the resource's plural name
   * @param config whether a write needs `If-Match`
   * @throws {Error} for an entity whose records it cannot keep
   */
  constructor(
    readonly name: ResourceName,
    repository: Repository<Entity>,
    readonly counter: UsageCounter,
    private readonly config: Pick<Config, 'requireIfMatch'> = { requireIfMatch: false },
  ) {
    this.table = new ResourceTable(repository as unknown as Repository<ResourceEntity>);
    this.references = new References(repository as unknown as Repository<ResourceEntity>);
    this.creates = this.batches<NewRecord<Entity>, StoredRecord<Entity>>((tx, records) => tx.createUpTo(records));
    // Elsewhere one that waits for the lock of its record would hold up the others.
    if (this.table.engine.hasSingleWriter) {
      this.updates = this.batches((tx, updates) => tx.updateAll(updates));
      this.deletions = this.batches((tx, deletions) => tx.deleteAll(deletions), DELETES);
    }
    const { busyTimeout: timeout, batchedReads } = this.table.engine;
    if (batchedReads === undefined) return;
    const { maxBatchSize, isOneOf } = batchedReads;
    const statement = this.table.findAll(isOneOf('id'));
    this.reads = new Batcher((ids) => this.findAll(statement, ids), { maxBatchSize, timeout });
  }

  private get dataSource(): DataSource {
    return this.table.dataSource;
  }

  /** @throws {ResourceNotFoundError} */
  async get(id: number): Promise<StoredRecord<Entity>> {
    return found(this.name, id, await this.find(id));
  }

  async find(id: number): Promise<StoredRecord<Entity> | undefined> {
    if (this.reads !== undefined) return this.reads.load(id);
    return findRecord(this.table, this.counter, committed(this.dataSource), this.table.find, id);
  }

  /** Those of the ids that exist. */
  async existing(ids: readonly number[]): Promise<number[]> {
    const rows = await committed(this.dataSource).query<{ id: number }[]>(
      `SELECT id FROM ${this.table.sqlName} WHERE id IN (${placeholders(ids)}) ORDER BY id`,
      [...ids],
    );
    return rows.map(({ id }) => id);
  }

  /** @throws {StorageFullError} when as many records are stored as may be */
  create(values: NewRecord<Entity>): Promise<StoredRecord<Entity>> {
    return this.creates.load(values);
  }

  /**
   * Changes the properties that are present. When they are what they were, nothing changes, the version included.
   * @throws {ResourceNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  async update(
    id: number,
    changes: RecordChanges<Entity>,
    preconditions: Preconditions = NO_PRECONDITIONS,
  ): Promise<StoredRecord<Entity>> {
    const check = preconditions.forWrite(this.config);
    const updated =
      this.updates?.load({ id, changes, check }) ??
      transaction(this.dataSource, (tx) => this.in(tx).update(id, changes, check));
    return found(this.name, id, await updated);
  }

  /**
   * Deletes a record and frees its place.
   * @throws {ResourceNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  async delete(id: number, preconditions: Preconditions = NO_PRECONDITIONS): Promise<void> {
    const check = preconditions.forWrite(this.config);
    const deleted =
      this.deletions?.load({ id, check }) ??
      transaction(this.dataSource, (tx) => this.in(tx).delete(id, check), DELETES);
    found(this.name, id, await deleted);
  }

  /** The same in a transaction of the caller, which may be one of several resources. */
  in(transaction: Sql): ResourceTransaction<Entity> {
    return new ResourceTransaction(this.table, this.counter, transaction);
  }

  /** The version and the number of all records. */
  usage(): Promise<ResourceUsage> {
    return this.counter.usage(committed(this.dataSource));
  }

  /** One state of all records, to be closed by the caller. */
  async openSnapshot(): Promise<ResourceSnapshot<Entity>> {
    const snapshot = await openSnapshot(this.dataSource);
    try {
      return new ResourceSnapshot(snapshot, await this.counter.usage(snapshot), this.table);
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  /**
   * Lets `read` read one state of all records, and once more when the connection breaks: it closes what it was given, and has
   * sent nothing to the client when it rejects.
   */
  readSnapshot<T>(read: (snapshot: ResourceSnapshot<Entity>) => Promise<T>): Promise<T> {
    return repeatRead(async () => read(await this.openSnapshot()));
  }

  private batches<Item, Result>(write: BatchWrite<Entity, Item, Result>, options?: TransactionOptions) {
    const { busyTimeout: timeout } = this.table.engine;
    return new Batcher<Item, Result>((items) => this.writeAll(items, write, options), {
      maxBatchSize: LARGEST_WRITE,
      timeout,
    });
  }

  /** Makes writes in one transaction, or each in its own where the database rejects one of them: it must not fail the others. */
  private async writeAll<Item, Result>(
    items: Item[],
    write: BatchWrite<Entity, Item, Result>,
    options?: TransactionOptions,
  ): Promise<(Result | Error)[]> {
    try {
      return await transaction(this.dataSource, (tx) => write(this.in(tx), items), options);
    } catch (error) {
      if (items.length === 1 || !(error instanceof QueryFailedError)) return items.map(() => error as Error);
      return (await Promise.all(items.map((item) => this.writeAll([item], write, options)))).flat();
    }
  }

  private async findAll(statement: string, ids: number[]): Promise<(StoredRecord<Entity> | undefined)[]> {
    const rows = await committed(this.dataSource).query<Row[]>(statement, [this.counter.resource, ids]);
    const found = new Map(
      rows.map((row) => [row['id'] as number, storedRecord<Entity>(this.table, this.counter, row)]),
    );
    return ids.map((id) => found.get(id));
  }
}
