import { Logger } from '@nestjs/common';
import { UnsafeIntegerError } from '../../database/errors.js';
import { advanceIdSequence } from '../../database/id-sequence.js';
import type { Sql } from '../../database/sql.js';
import { StorageFullError } from '../usage/storage-full-error.js';
import type { UsageCounter, Version } from '../usage/usage-counter.js';
import { Revisions } from '../usage/revisions.js';
import type {
  NewRecord,
  RecordChanges,
  RecordDeletion,
  RecordOf,
  RecordUpdate,
  ResourceEntity,
  StoredRecord,
  WriteCheck,
} from './resource-entity.js';
import type { ResourceTable } from './resource-table.js';
import { findRecord } from './stored-record.js';

const logger = new Logger('Storage');

/** Parameters of one statement: SQLite takes 32 766 of them, PostgreSQL twice as many. */
const MOST_PARAMETERS = 30_000;

type Values = Readonly<Record<string, unknown>>;

/**
 * What can be done with the records of one resource in a transaction of the caller, beside whatever else it does there. A
 * transaction of several resources writes them in the same order everywhere, so that two never wait for each other.
 */
export class ResourceTransaction<Entity extends ResourceEntity> {
  constructor(
    private readonly table: ResourceTable,
    private readonly storage: UsageCounter,
    private readonly transaction: Sql,
  ) {}

  /** A record that no other transaction changes until this one ends. */
  async find(id: number): Promise<StoredRecord<Entity> | undefined> {
    return findRecord(this.table, this.storage, this.transaction, this.table.findForUpdate, id);
  }

  /** @throws {StorageFullError} */
  async create(values: NewRecord<Entity>): Promise<StoredRecord<Entity>> {
    const [result] = await this.createUpTo([values]);
    if (result instanceof Error) throw result;
    return result!;
  }

  /** Creates as many of the records, all without ids, as find a place; the others get the error. */
  async createUpTo(records: readonly NewRecord<Entity>[]): Promise<(StoredRecord<Entity> | StorageFullError)[]> {
    const versions = await this.storage.reserveUpTo(this.transaction, records.length);
    const ids = await this.insert(records.slice(0, versions.length), versions);
    return records.map((values, index) => {
      const version = versions[index];
      if (version === undefined) return new StorageFullError(this.storage.resource);
      const record = this.table.recordOf(ids.get(version.revision)!, values);
      return { record: record as RecordOf<Entity>, version };
    });
  }

  /**
   * Creates many: all of them with the ids that they bring, or all with new ones.
   * @throws {StorageFullError} when there is not room for all
   * @throws {QueryFailedError} when an id exists already
   */
  async createMany(records: readonly NewRecord<Entity>[]): Promise<void> {
    const versions = await this.storage.reserveMany(this.transaction, records.length);
    const size = Math.floor(MOST_PARAMETERS / (this.table.columns.length + 1));
    for (let start = 0; start < records.length; start += size) {
      await this.insert(records.slice(start, start + size), versions.slice(start, start + size));
    }
    const ids = records.flatMap(({ id }) => id ?? []);
    if (ids.length === 0) return;
    await advanceIdSequence(this.table.dataSource, this.transaction, this.table.name, Math.max(...ids));
  }

  /**
   * Changes the properties given. When they are what they were, nothing changes, the version included.
   * @returns `undefined` when there is no such record
   */
  async update(
    id: number,
    changes: RecordChanges<Entity>,
    check?: WriteCheck,
  ): Promise<StoredRecord<Entity> | undefined> {
    const [result] = await this.updateAll([{ id, changes, check }]);
    if (result instanceof Error) throw result;
    return result;
  }

  /** Makes several updates, one after the other. An update whose check throws changes nothing, and its result is that error. */
  async updateAll(updates: readonly RecordUpdate<Entity>[]): Promise<(StoredRecord<Entity> | undefined | Error)[]> {
    const results: (StoredRecord<Entity> | undefined | Error)[] = [];
    const revisions = new Revisions(this.storage, this.transaction);
    for (const { id, changes, check } of updates) {
      const current = await this.find(id);
      const rejection = current && rejectionOf(check, current.version);
      results.push(rejection ?? (current && (await this.change(current, changes, revisions))));
    }
    await revisions.save();
    return results;
  }

  /** @returns whether there was such a record */
  async delete(id: number, check?: WriteCheck): Promise<boolean> {
    const [result] = await this.deleteAll([{ id, check }]);
    if (result instanceof Error) throw result;
    return result!;
  }

  /** Deletes several, one after the other; see `updateAll`. */
  async deleteAll(deletions: readonly RecordDeletion[]): Promise<(boolean | Error)[]> {
    const results: (boolean | Error)[] = [];
    for (const { id, check } of deletions) {
      const current = await this.find(id);
      const result = (current && rejectionOf(check, current.version)) ?? current !== undefined;
      if (result === true) await this.transaction.query(this.table.delete, [id]);
      results.push(result);
    }
    const deleted = results.filter((result) => result === true).length;
    if (deleted > 0) await this.storage.release(this.transaction, deleted);
    return results;
  }

  /** Gives no id up to this one again, such as the last one that another storage has given. */
  async advanceIds(lastGivenId: number): Promise<void> {
    // No id is given while its row is locked.
    await this.storage.touch(this.transaction);
    await advanceIdSequence(this.table.dataSource, this.transaction, this.table.name, lastGivenId);
  }

  /** Ids are never given twice, and the next one would be beyond 2^53 - 1. */
  private idsSpent(): StorageFullError {
    const { name } = this.table;
    logger.error(
      `The ids of ${name} are spent: one near 2^53 was stored. Export ${name}, and import them with --ids assign`,
    );
    return new StorageFullError(this.storage.resource);
  }

  private async change(
    current: StoredRecord<Entity>,
    changes: Values,
    revisions: Revisions,
  ): Promise<StoredRecord<Entity>> {
    const record = this.changed(current.record, changes);
    if (record === undefined) return current;
    const version = await revisions.next();
    const parameters = [...this.table.parametersOf(record), version.revision, current.record.id];
    await this.transaction.query(this.table.update, parameters);
    return { record: record as RecordOf<Entity>, version };
  }

  /** The record with the changes made; `undefined` when they change nothing. */
  private changed(record: Values, changes: Values): Values | undefined {
    let result: Record<string, unknown> | undefined;
    for (const { property } of this.table.valueColumns) {
      const value = changes[property];
      if (value === undefined || isEqual(value, record[property])) continue;
      result ??= { ...record };
      result[property] = value;
    }
    return result;
  }

  /**
   * @param records all with the ids that they bring, or all without
   * @returns the ids by revision: the order in which RETURNING gives its rows is not promised
   */
  private async insert(
    records: readonly NewRecord<Entity>[],
    versions: readonly Version[],
  ): Promise<Map<number, number>> {
    const [first] = records;
    if (first === undefined) return new Map();
    const keepsIds = first.id !== undefined;
    const parameters = records.flatMap((record, index) => {
      const values = [...this.table.parametersOf(record), versions[index]!.revision];
      return keepsIds ? [record.id, ...values] : values;
    });
    const rows = await this.transaction
      .query<{ id: number; revision: number }[]>(this.table.insert(records.length, keepsIds), parameters)
      .catch((error: unknown) => {
        throw error instanceof UnsafeIntegerError ? this.idsSpent() : error;
      });
    return new Map(rows.map(({ id, revision }) => [revision, id]));
  }
}

function rejectionOf(check: WriteCheck | undefined, version: Version): Error | undefined {
  try {
    check?.(version);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

const isEqual = (one: unknown, other: unknown): boolean =>
  one === other || (one instanceof Date && other instanceof Date && one.getTime() === other.getTime());
