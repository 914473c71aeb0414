import { isDeepStrictEqual } from 'node:util';
import { HttpException, Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { commitPreventedBy, preventCommit, type Sql } from '../../database/engine.js';
import { UnsafeIntegerError } from '../../database/errors.js';
import { type Actor, type ActorsByRevision, currentActor, runAudited } from '../audit/actor.js';
import type {
  AnyResourceEntity,
  Change,
  NewRecord,
  PublicRecord,
  StoredRecord,
  WriteCheck,
} from '../resource-entity.js';
import type { Id } from '../id-kinds.js';
import type { IdempotencyKey } from '../idempotency/idempotency.js';
import type { RecordChange, Rule, RuleTransaction } from '../resource.js';
import { type LockedUsage, StorageFullError, type UsageCounter } from '../usage/usage-counter.js';
import { LIMIT } from './page-query.js';
import { placeholders, recordValue, type Values } from './resource-table.js';
import { conditionsOf, type RecordScope, type RecordSelection, where } from './selection.js';

const logger = new Logger('Storage');

/** Maximum number of parameters of one statement: SQLite accepts 32 766, PostgreSQL 65 535. */
const MOST_PARAMETERS = 30_000;

const lastWrites = new WeakMap<Sql, Promise<unknown>>();

export interface Creation<Entity extends AnyResourceEntity> {
  readonly values: NewRecord<Entity>;
  /** The actor of the line in the audit trail; `currentActor()` by default. */
  readonly actor?: Actor;
  /** Runs the rule in the async context of the caller: a batch has records of several requests. */
  readonly inContext?: <T>(work: () => T) => T;
  readonly key?: IdempotencyKey;
}

/**
 * The operations on one resource in a transaction of the caller. Transactions that write several resources must write
 * them in the same order everywhere, or call `lock` for them in the same order; otherwise they deadlock.
 */
export class ResourceTransaction<Entity extends AnyResourceEntity> {
  private readonly table = this.scope.table;

  constructor(
    private readonly scope: RecordScope,
    private readonly storage: UsageCounter,
    private readonly transaction: Sql,
    private readonly rule?: Rule<Entity>,
  ) {}

  /** Finds a record and locks it until the transaction ends. */
  async find(id: Id): Promise<StoredRecord<Entity> | undefined> {
    const { transaction, storage, scope, table } = this;
    if (!table.ids.isId(id)) return undefined;
    const [found] = await scope.find<Entity>(transaction, storage, scope.findById + table.forUpdate, id);
    return found;
  }

  /** Finds at most `limit` records in any order, and locks them. In a large table the selection needs an index. */
  async findSome(selection: RecordSelection, limit: number): Promise<PublicRecord<Entity>[]> {
    const { table, scope } = this;
    const { sql, parameters } = where([...scope.conditions, ...conditionsOf(table, selection)]);
    const rows = await this.transaction.query<Values[]>(
      `SELECT ${table.selected} FROM ${table.sqlName}${sql} ${LIMIT}${table.forUpdate}`,
      [...parameters, limit],
    );
    return rows.map((row) => table.fromRow(row) as unknown as PublicRecord<Entity>);
  }

  /** Stops other writes of the resource until this transaction ends. Call it after each `find`, before any write. */
  lock(): Promise<LockedUsage> {
    return this.storage.lock(this.transaction, this.table.engine.dialect);
  }

  /** @throws {StorageFullError} */
  create(values: NewRecord<Entity>): Promise<StoredRecord<Entity>> {
    return this.inTurn(() => this.createOne(values));
  }

  /** Creates records until the capacity is reached; the others get a `StorageFullError`. All have ids, or none. */
  createUpTo(creations: readonly Creation<Entity>[]): Promise<(StoredRecord<Entity> | Error)[]> {
    return this.inTurn(() => this.createFitting(creations));
  }

  /**
   * Creates many records: either all have an id, or none has.
   * @throws {StorageFullError} when the free capacity is too small
   * @param describe makes another error of the constraint or the rule that rejects a record
   */
  createMany(
    records: readonly NewRecord<Entity>[],
    describe = (error: Error, _index: number): Error => error,
  ): Promise<void> {
    return this.inTurn(async () => {
      await this.lockParents(records);
      const usage = await this.lock();
      if (records.length > usage.free) throw new StorageFullError(this.storage.resource);
      const earlier = commitPreventedBy(this.transaction);
      const undo = async (): Promise<void> => {
        await this.transaction.query('ROLLBACK TO SAVEPOINT many', []);
        preventCommit(this.transaction, earlier);
      };
      await this.transaction.query('SAVEPOINT many', []);
      try {
        const creations = records.map((values) => ({ values }));
        await this.insert(creations, usage);
      } catch (error) {
        if (!isRejection(error)) throw error;
        // All records were inserted and checked together. One by one, the rejected record is found.
        await undo();
        for (const [index, record] of records.entries()) {
          await this.createOne(record).catch(async (reason: unknown) => {
            if (!isRejection(reason)) throw reason;
            // The caller may catch the error and commit.
            await undo();
            throw describe(reason, index);
          });
        }
      }
      await this.transaction.query('RELEASE SAVEPOINT many', []);
    });
  }

  /**
   * Updates a record. If no value differs, the version stays as well. `undefined` when there is no such record.
   * @param changes or a function, which gets a copy of the record, because it may change its argument and return it
   */
  update(id: Id, changes: Change<Entity>, check?: WriteCheck): Promise<StoredRecord<Entity> | undefined> {
    return this.inTurn(async () => {
      const current = await this.find(id);
      if (current === undefined) return undefined;
      check?.(current.version);
      const given = typeof changes === 'function' ? changes(this.table.copyOf(current.record)) : changes;
      const changed = this.changed(current.record, given);
      if (changed === undefined) return current;
      const values: Values = { ...current.record, ...changed };
      await this.lockParents([values], current.record);
      const { epoch, revision } = await this.lock();
      const version = { epoch, revision: revision + 1 };
      await this.write(...this.table.update(id, changed, version.revision));
      const record = values as PublicRecord<Entity>;
      await this.checkRule([{ before: current.record, after: record }]);
      return { record, version };
    });
  }

  /** @returns whether there was such a record */
  delete(id: Id, check?: WriteCheck): Promise<boolean> {
    return this.inTurn(async () => {
      const current = await this.find(id);
      if (current === undefined) return false;
      check?.(current.version);
      // A write that waits for the unique values of the record holds this lock.
      await this.lock();
      await this.write(this.table.delete, [id]);
      return true;
    });
  }

  /** Ignores records that do not exist. */
  async deleteAll(records: readonly { readonly id: Id }[]): Promise<void> {
    for (const { id } of records) await this.delete(id);
  }

  /** Advances the id sequence, so that the next id is greater than `lastGivenId`. */
  async advanceIds(lastGivenId: number): Promise<void> {
    // The lock of the `storage` row stops other inserts.
    await this.lock();
    await this.table.engine.advanceIdSequence(this.transaction, this.table.name, lastGivenId);
  }

  /** Runs a write after the previous one of the transaction, awaited or not: each takes the next revision. */
  private inTurn<T>(write: () => Promise<T>): Promise<T> {
    const result = lastWrites.get(this.transaction)?.then(write) ?? write();
    lastWrites.set(
      this.transaction,
      result.catch(() => undefined),
    );
    return result;
  }

  private async createOne(values: NewRecord<Entity>): Promise<StoredRecord<Entity>> {
    const [result] = await this.createFitting([{ values }]);
    if (result instanceof Error) throw result;
    return result!;
  }

  private async createFitting(creations: readonly Creation<Entity>[]): Promise<(StoredRecord<Entity> | Error)[]> {
    await this.lockParents(creations.map(({ values }) => values));
    const usage = await this.lock();
    const stored = await this.insert(creations.slice(0, Math.max(usage.free, 0)), usage);
    return creations.map((_, index) => stored[index] ?? new StorageFullError(this.storage.resource));
  }

  /** The next id would be greater than 2^53 - 1. */
  private idsExhausted(): StorageFullError {
    const { name } = this.table;
    logger.error(
      `The ids of ${name} are used up: an id near 2^53 was stored. Export ${name}, and import them with --ids assign`,
    );
    return new StorageFullError(this.storage.resource);
  }

  private async checkRule(
    changes: readonly RecordChange<Entity>[],
    creations: readonly Creation<Entity>[] = [],
  ): Promise<void> {
    const { rule, transaction } = this;
    if (rule === undefined || changes.length === 0) return;
    const lockAll = <Row>(table: string, ids: readonly Id[]): Promise<Row[]> =>
      this.selectLocked<Row>('*', table, ids, 'forUpdate');
    const lock = async <Row>(table: string, id: Id) => (await lockAll<Row>(table, [id]))[0];
    const ruleTransaction: RuleTransaction = { ...transaction, lock, lockAll };
    try {
      if ('checkAll' in rule) return await rule.checkAll(changes, ruleTransaction);
      for (const [index, change] of changes.entries()) {
        const check = (): Promise<void> => rule.check(change, ruleTransaction);
        const { inContext } = creations[index] ?? {};
        await (inContext === undefined ? check() : inContext(check));
      }
    } catch (error) {
      preventCommit(transaction, error as Error);
      throw error;
    }
  }

  /**
   * Locks the parents that the write will lock: all of them for a rule, otherwise new ones for the foreign keys. After
   * the `storage` row, this would deadlock with a transaction that holds a parent and waits for that row.
   */
  private async lockParents(records: readonly Values[], before: Values = {}): Promise<void> {
    if (this.table.forUpdate === '') return;
    for (const [property, parent] of this.table.references) {
      const hasRule = this.rule !== undefined;
      const ids = [...records, ...(hasRule ? [before] : [])].map(({ [property]: id }) => id as Id | null | undefined);
      const parents = ids.filter((id) => id !== undefined && id !== null && (hasRule || id !== before[property]));
      await this.selectLocked('id', parent, [...new Set(parents)] as Id[], hasRule ? 'forUpdate' : 'forReference');
    }
  }

  private async selectLocked<Row>(
    columns: '*' | 'id',
    table: string,
    ids: readonly Id[],
    lock: 'forUpdate' | 'forReference',
  ): Promise<Row[]> {
    const { dataSource, engine } = this.table;
    const name = dataSource.driver.escape(table);
    const rows: Row[] = [];
    for (let start = 0; start < ids.length; start += MOST_PARAMETERS) {
      const part = ids.slice(start, start + MOST_PARAMETERS);
      const select = `SELECT ${columns} FROM ${name} WHERE id IN (${placeholders(part)}) ORDER BY id`;
      rows.push(...(await this.transaction.query<Row[]>(select + engine.dialect[lock](name), part)));
    }
    return rows;
  }

  /** The values that differ; `undefined` when there are none. */
  private changed(record: Values, changes: Values): Values | undefined {
    const { valueColumns } = this.table;
    const differences = valueColumns
      .map((column) => [column.property, recordValue(column, changes[column.property])] as const)
      .filter(([property, value]) => value !== undefined && !isEqual(value, record[property]));
    if (differences.length === 0) return undefined;
    const dates = valueColumns.filter(({ metadata }) => metadata.isUpdateDate);
    const updateDates = dates.map(({ property, initial }) => [property, initial()] as const);
    return Object.fromEntries([...updateDates, ...differences]);
  }

  /** @param actors the actor of each inserted row by its revision; revision 0 stands for every changed row */
  private write<Rows>(
    statement: string,
    parameters: unknown[],
    actors: () => ActorsByRevision = () => [[0, currentActor()]],
  ): Promise<Rows> {
    const write = (): Promise<Rows> => this.transaction.query(statement, parameters);
    return this.storage.audited ? runAudited(this.table, this.transaction, actors(), write) : write();
  }

  /** Inserts records, which all have ids or all have none, then checks the rule of the resource. */
  private async insert(
    creations: readonly Creation<Entity>[],
    { epoch, revision }: LockedUsage,
  ): Promise<StoredRecord<Entity>[]> {
    const { table } = this;
    const created = creations.map(({ values }, index) => {
      return { record: table.newRecord(values), version: { epoch, revision: revision + 1 + index } };
    });
    const bringIds = created[0]?.record['id'] !== undefined;
    const size = Math.floor(MOST_PARAMETERS / (table.columns.length + 1));
    for (let start = 0; start < created.length; start += size) {
      const part = created.slice(start, start + size);
      const rows = await this.write<{ id: Id; revision: number }[]>(
        table.insert(part.length, bringIds),
        part.flatMap(({ record, version }) => [...table.parametersOf(record, bringIds), version.revision]),
        () => part.map(({ version }, index) => [version.revision, creations[start + index]!.actor ?? currentActor()]),
      ).catch((error: unknown) => {
        throw error instanceof UnsafeIntegerError ? this.idsExhausted() : error;
      });
      // RETURNING promises no order of its rows.
      const ids = new Map(rows.map((row) => [row.revision, row.id]));
      for (const { record, version } of part) record['id'] = ids.get(version.revision);
    }
    const stored = created as unknown as StoredRecord<Entity>[];
    await this.checkRule(
      stored.map(({ record }) => ({ after: record })),
      creations,
    );
    return stored;
  }
}

const isRejection = (error: unknown): error is Error =>
  error instanceof QueryFailedError || (error instanceof HttpException && !(error instanceof StorageFullError));

/** Compares values, dates and JSON, whose properties may be in another order. */
const isEqual = (one: unknown, other: unknown): boolean => one === other || isDeepStrictEqual(one, other);
