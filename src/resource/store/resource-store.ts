import { type DataSource, QueryFailedError, type Repository } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { repeatRead } from '../../database/repeat-read.js';
import { openSnapshot } from '../../database/snapshot.js';
import type { Sql } from '../../database/sql.js';
import { committed, transaction } from '../../database/transactions.js';
import type { ResourceStorage, ResourceUsage } from '../../storage/resource-storage.js';
import type { NewRecord, RecordChanges, ResourceEntity, StoredRecord, WriteCheck } from './resource-entity.js';
import { References } from './references.js';
import { ResourceSnapshot } from './resource-snapshot.js';
import { placeholders, ResourceTable } from './resource-table.js';
import { findRecord, ResourceTransaction, type Row, storedRecord } from './resource-transaction.js';

/** Records that are stored by one statement at most. */
const LARGEST_CREATE = 100;

/**
 * The records of one resource: what clients see of them, their versions and their number, exact under any concurrency. Every
 * method may throw `DatabaseUnavailableError`, and every write `DiskFullError` and `OutcomeUnknownError`. It does without Nest,
 * since the command line does.
 */
export class ResourceStore<Entity extends ResourceEntity> {
  readonly table: ResourceTable;
  /** Those of its records to the records of other resources. */
  readonly references: References;

  /** Creates that wait together share a transaction; each has its own outcome. */
  private readonly creates: Batcher<NewRecord<Entity>, StoredRecord<Entity>>;
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
    const { busyTimeout: timeout, batchedReads } = this.table.engine;
    this.creates = new Batcher((records) => this.createAll(records), { maxBatchSize: LARGEST_CREATE, timeout });
    if (batchedReads === undefined) return;
    const { maxBatchSize } = batchedReads;
    const statement = this.table.findAll(batchedReads.isOneOf('id'));
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
    return transaction(this.dataSource, (tx) => this.in(tx).update(id, changes, check));
  }

  /** @returns whether there was such a record */
  delete(id: number, check?: WriteCheck): Promise<boolean> {
    return transaction(this.dataSource, (tx) => this.in(tx).delete(id, check), { reclaimsSpace: true });
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

  private async createAll(records: NewRecord<Entity>[]): Promise<(StoredRecord<Entity> | Error)[]> {
    try {
      return await transaction(this.dataSource, (tx) => this.in(tx).createUpTo(records));
    } catch (error) {
      // What the database rejects may be one of them; it must not fail the others.
      if (records.length === 1 || !(error instanceof QueryFailedError)) return records.map(() => error as Error);
      return (await Promise.all(records.map((record) => this.createAll([record])))).flat();
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
