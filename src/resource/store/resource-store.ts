import { type DataSource, QueryFailedError, type Repository } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { repeatRead } from '../../database/repeat-read.js';
import { openSnapshot } from '../../database/snapshot.js';
import type { Sql } from '../../database/sql.js';
import { committed, transaction, type TransactionOptions } from '../../database/transactions.js';
import type { ResourceStorage, ResourceUsage } from '../../storage/resource-storage.js';
import type {
  NewRecord,
  RecordChanges,
  RecordDeletion,
  RecordUpdate,
  ResourceEntity,
  StoredRecord,
  WriteCheck,
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
 * method may throw `DatabaseUnavailableError`, and every write `DiskFullError` and `OutcomeUnknownError`. It does without Nest,
 * since the command line does.
 */
export class ResourceStore<Entity extends ResourceEntity> {
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
   * @throws {Error} for an entity whose records it cannot keep
   */
  constructor(
    repository: Repository<Entity>,
    readonly storage: ResourceStorage,
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

  async find(id: number): Promise<StoredRecord<Entity> | undefined> {
    if (this.reads !== undefined) return this.reads.load(id);
    return findRecord(this.table, this.storage, committed(this.dataSource), this.table.find, id);
  }

  /** Those of the ids that exist. */
  async existing(ids: readonly number[]): Promise<number[]> {
    const rows = await committed(this.dataSource).query<{ id: number }[]>(
      `SELECT id FROM ${this.table.sqlName} WHERE id IN (${placeholders(ids)}) ORDER BY id`,
      [...ids],
    );
    return rows.map(({ id }) => id);
  }

  /** @throws {StorageFullError} */
  create(values: NewRecord<Entity>): Promise<StoredRecord<Entity>> {
    return this.creates.load(values);
  }

  /** See `update` of `ResourceTransaction`. */
  update(id: number, changes: RecordChanges<Entity>, check?: WriteCheck): Promise<StoredRecord<Entity> | undefined> {
    if (this.updates !== undefined) return this.updates.load({ id, changes, check });
    return transaction(this.dataSource, (tx) => this.in(tx).update(id, changes, check));
  }

  /** @returns whether there was such a record */
  delete(id: number, check?: WriteCheck): Promise<boolean> {
    if (this.deletions !== undefined) return this.deletions.load({ id, check });
    return transaction(this.dataSource, (tx) => this.in(tx).delete(id, check), DELETES);
  }

  /** The same in a transaction of the caller, which may be one of several resources. */
  in(transaction: Sql): ResourceTransaction<Entity> {
    return new ResourceTransaction(this.table, this.storage, transaction);
  }

  /** The version and the number of all records. */
  usage(): Promise<ResourceUsage> {
    return this.storage.usage(committed(this.dataSource));
  }

  /** One state of all records, to be closed by the caller. */
  async openSnapshot(): Promise<ResourceSnapshot<Entity>> {
    const snapshot = await openSnapshot(this.dataSource);
    try {
      return new ResourceSnapshot(snapshot, await this.storage.usage(snapshot), this.table);
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
    const rows = await committed(this.dataSource).query<Row[]>(statement, [this.storage.resource, ids]);
    const found = new Map(
      rows.map((row) => [row['id'] as number, storedRecord<Entity>(this.table, this.storage, row)]),
    );
    return ids.map((id) => found.get(id));
  }
}
