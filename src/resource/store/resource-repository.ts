import { AsyncLocalStorage } from 'node:async_hooks';
import type { Repository } from 'typeorm';
import type { Config } from '../../config/config.js';
import { Batcher } from '../../database/batcher.js';
import { DatabaseError, UnsafeIntegerError } from '../../database/errors.js';
import { committed, openSnapshot, type Sql, transaction, type TransactionOptions } from '../../database/engine.js';
import { ApiError } from '../../http/errors/api-error.js';
import { currentActor } from '../audit/actor.js';
import { NO_PRECONDITIONS, type Preconditions } from '../preconditions.js';
import { saveResults, writeOnce } from '../idempotency/idempotency.js';
import type { Id } from '../id-kinds.js';
import type { NewRecord, PublicRecord, Change, AnyResourceEntity, StoredRecord } from '../resource-entity.js';
import type { ResourceName, Rule } from '../resource.js';
import type { ResourceUsage, UsageCounter } from '../usage/usage-counter.js';
import { ResourceSnapshot } from './resource-snapshot.js';
import { ResourceTable } from './resource-table.js';
import { type Creation, ResourceTransaction } from './resource-transaction.js';
import { RecordScope } from './selection.js';

const LARGEST_BATCH = 100;

/**
 * The repository of one resource: records, versions and count, correct under concurrency. It works without Nest.
 * Every method may throw `DatabaseUnavailableError`, and every write `DiskFullError`; then nothing has changed. A write
 * that throws `OutcomeUnknownError` may have been stored or not.
 */
export class ResourceRepository<Entity extends AnyResourceEntity> {
  readonly table = this.scope.table;
  /** Names the records of `where`; absent for all records. */
  readonly scopeKey = this.scope.key;
  private readonly dataSource = this.table.dataSource;
  private readonly creations = new Batcher<Creation<Entity>, StoredRecord<Entity>>((batch) => this.createAll(batch), {
    kind: 'write',
    maxBatchSize: LARGEST_BATCH,
    timeout: this.table.engine.busyTimeout,
  });
  private readonly reads?: Batcher<Id, StoredRecord<Entity> | undefined>;

  /** @throws {Error} for an entity whose table is named otherwise, or that has an unsupported column or key */
  constructor(
    readonly name: ResourceName,
    private readonly repository: Repository<Entity>,
    readonly counter: UsageCounter,
    private readonly config: Pick<Config, 'requireIfMatch'> = { requireIfMatch: false },
    private readonly rule?: Rule<Entity>,
    private readonly scope = new RecordScope(new ResourceTable(repository as unknown as Repository<AnyResourceEntity>)),
  ) {
    // Two resources with one name would share a row of `storage`.
    if (name.plural !== this.table.name) {
      throw new Error(
        `The ResourceName is "${name.plural}", and the table of its entity is "${this.table.name}": use one name`,
      );
    }
    if (name.ids !== this.table.ids) {
      throw new Error(`The ResourceName and the entity of ${name.plural} have different kinds of ids`);
    }
    counter.layout = this.table.layout;
    const { busyTimeout: timeout, batchedReads } = this.table.engine;
    if (batchedReads === undefined) return;
    const { maxBatchSize, isOneOf } = batchedReads;
    const statement = this.scope.findStatement(isOneOf('id'));
    this.reads = new Batcher((ids) => this.findAll(statement, ids), { kind: 'read', maxBatchSize, timeout });
  }

  /**
   * A repository of the records that have these values; `null` means no value. All methods except `create` and `usage`
   * treat other records as absent.
   * @throws {Error} for `undefined`
   */
  where(values: Partial<PublicRecord<Entity>>): ResourceRepository<Entity> {
    const { name, repository, counter, config, rule, scope } = this;
    return new ResourceRepository(name, repository, counter, config, rule, scope.and(values));
  }

  /** @throws {ResourceNotFoundError} */
  async get(id: Entity['id']): Promise<StoredRecord<Entity>> {
    return requireFound(this.name, id, await this.find(id));
  }

  find(id: Entity['id']): Promise<StoredRecord<Entity> | undefined> {
    if (!this.table.ids.isId(id)) return Promise.resolve(undefined);
    if (this.reads !== undefined) return this.reads.load(id);
    const { scope, counter, dataSource } = this;
    return scope.find<Entity>(committed(dataSource), counter, scope.findById, id).then(([found]) => found);
  }

  /**
   * @param preconditions of a POST: with an `Idempotency-Key`, a repetition returns the record as it was stored first
   * @throws {StorageFullError} when the capacity is reached
   */
  create(values: NewRecord<Entity>, { key }: Preconditions = NO_PRECONDITIONS): Promise<StoredRecord<Entity>> {
    const actor = this.counter.audited ? currentActor() : undefined;
    const inContext = this.rule && AsyncLocalStorage.snapshot();
    const create = () => this.creations.load({ values, key, actor, inContext });
    return key === undefined ? create() : writeOnce(this.dataSource, key, create);
  }

  /**
   * Updates the given properties. If no value differs from the stored value, the version stays as well.
   * @param changes or a function that gets the stored record. It runs inside the transaction after the preconditions
   * and may throw an error of the feature. It may run again, so it must only use its argument.
   * @throws {ResourceNotFoundError}, {ApiError} 412 or 428 when the preconditions do not hold
   */
  update(
    id: Entity['id'],
    changes: Change<Entity>,
    preconditions: Preconditions = NO_PRECONDITIONS,
  ): Promise<StoredRecord<Entity>> {
    const check = preconditions.forWrite(this.config);
    const update = async (tx: Sql) => requireFound(this.name, id, await this.in(tx).update(id, changes, check));
    return this.transaction(update, preconditions);
  }

  /** @throws {ResourceNotFoundError}, {ApiError} 412 or 428 when the preconditions do not hold */
  delete(id: Entity['id'], preconditions: Preconditions = NO_PRECONDITIONS): Promise<void> {
    const check = preconditions.forWrite(this.config);
    const deletion = async (tx: Sql): Promise<void> => {
      requireFound(this.name, id, await this.in(tx).delete(id, check));
    };
    return this.transaction(deletion, preconditions, { reclaimsSpace: true });
  }

  /**
   * Runs `work` in a transaction, in which several resources take part by `in`. It may run again, so it must only use
   * its argument.
   * @param preconditions of a POST: with an `Idempotency-Key`, a repetition returns a clone of the first result
   */
  transaction<T>(
    work: (transaction: Sql) => Promise<T>,
    { key }: Preconditions = NO_PRECONDITIONS,
    options?: TransactionOptions,
  ): Promise<T> {
    const { dataSource } = this;
    if (key === undefined) return transaction(dataSource, work, options);
    const run = async (tx: Sql): Promise<T> => {
      const result = await work(tx);
      await saveResults(dataSource, tx, [{ key, result }]);
      return result;
    };
    return writeOnce(dataSource, key, () => transaction(dataSource, run, options));
  }

  /** The operations in a transaction of the caller, which may include other resources. */
  in(transaction: Sql): ResourceTransaction<Entity> {
    return new ResourceTransaction(this.scope, this.counter, transaction, this.rule);
  }

  usage(): Promise<ResourceUsage> {
    return this.counter.usage(committed(this.dataSource));
  }

  /** Opens a snapshot of all records; the caller closes it. */
  async openSnapshot(): Promise<ResourceSnapshot<Entity>> {
    const snapshot = await openSnapshot(this.dataSource);
    try {
      return new ResourceSnapshot(snapshot, await this.counter.usage(snapshot), this.scope);
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  /** Reads records in one statement. Each caller gets a copy, because several may read one record and change it. */
  private async findAll(statement: string, ids: Id[]): Promise<(StoredRecord<Entity> | Error | undefined)[]> {
    try {
      const found = await this.scope.find<Entity>(committed(this.dataSource), this.counter, statement, ids);
      const records = new Map(found.map((stored) => [stored.record.id, stored]));
      return ids.map((id) => {
        const stored = records.get(id);
        return stored && { ...stored, record: this.table.copyOf(stored.record) };
      });
    } catch (error) {
      if (!(error instanceof UnsafeIntegerError)) throw error;
      if (ids.length === 1) return [error];
      // One record has an integer that cannot be read. The callers of the other records still get them.
      return (await Promise.all(ids.map((id) => this.findAll(statement, [id])))).flat();
    }
  }

  /** Creates records in one transaction. If one is rejected, or only some have ids, each gets its own transaction. */
  private async createAll(batch: readonly Creation<Entity>[]): Promise<(StoredRecord<Entity> | Error)[]> {
    if (new Set(batch.map(({ values }) => values.id === undefined)).size > 1) return this.createEach(batch);
    try {
      return await transaction(this.dataSource, async (tx) => {
        const results = await this.in(tx).createUpTo(batch);
        const keyed = batch.flatMap(({ key }, index) => {
          const { [index]: result } = results;
          return key === undefined || result instanceof Error ? [] : [{ key, result }];
        });
        if (keyed.length > 0) await saveResults(this.dataSource, tx, keyed);
        return results;
      });
    } catch (error) {
      // An error in the code of a rule may concern one record only.
      if (batch.length === 1 || error instanceof DatabaseError) return batch.map(() => error as Error);
      return this.createEach(batch);
    }
  }

  private async createEach(batch: readonly Creation<Entity>[]): Promise<(StoredRecord<Entity> | Error)[]> {
    return (await Promise.all(batch.map((creation) => this.createAll([creation])))).flat();
  }
}

export class ResourceNotFoundError extends ApiError {
  constructor(name: ResourceName, id: Id) {
    super(404, name.notFoundCode, `There is no ${name.text} ${id}`);
  }
}

export function requireFound<T>(name: ResourceName, id: Id, result: T | undefined | false): T {
  if (result === undefined || result === false) throw new ResourceNotFoundError(name, id);
  return result;
}
