import { HttpException } from '@nestjs/common';
import { type DataSource, QueryFailedError } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { engineOf, type Sql, transaction, type TransactionOptions } from '../../database/engine.js';
import type { Actor } from '../audit/actor.js';
import { type IdempotencyKey, type KeyedResult, saveResults, writeOnce } from '../idempotency/idempotency.js';
import type { AnyResourceEntity } from '../resource-entity.js';
import type { ResourceTransaction } from './resource-transaction.js';

/** Maximum number of writes in one transaction. */
const LARGEST_WRITE = 100;

/** A write that may share a transaction with others. */
export interface Write {
  /** The `Idempotency-Key` of its request. */
  readonly key?: IdempotencyKey;
  /** The actor of the write; other writes of the transaction may have other actors. */
  readonly actor: Actor;
}

/** Runs several writes in one transaction and returns a result or an error for each. */
type BatchWrite<Entity extends AnyResourceEntity, Item, Result> = (
  transaction: ResourceTransaction<Entity>,
  items: Item[],
) => Promise<(Result | Error)[]>;

/** Runs one write. */
export type SingleWrite<Item, Result> = (item: Item) => Promise<Result>;

/** Runs writes of a resource in transactions. A write with an `Idempotency-Key` runs once; see `writeOnce`. */
export class BatchedWrites<Entity extends AnyResourceEntity> {
  /** @param operations makes the operations of the resource in a transaction */
  constructor(
    private readonly dataSource: DataSource,
    private readonly operations: (transaction: Sql) => ResourceTransaction<Entity>,
  ) {}

  /** Lets writes that wait at the same time share a transaction; each gets its own result. */
  shared<Item extends Write, Result>(
    write: BatchWrite<Entity, Item, Result>,
    options?: TransactionOptions,
  ): SingleWrite<Item, Result> {
    const { busyTimeout: timeout } = engineOf(this.dataSource);
    const batcher = new Batcher<Item, Result>((items) => this.runAll(items, write, options), {
      kind: 'write',
      maxBatchSize: LARGEST_WRITE,
      timeout,
    });
    return (item) => writeOnce(this.dataSource, item.key, () => batcher.load(item));
  }

  /** Gives each write its own transaction, which is rolled back if the result is an error. */
  alone<Item extends Write, Result>(
    write: BatchWrite<Entity, Item, Result>,
    options?: TransactionOptions,
  ): SingleWrite<Item, Result> {
    const run = async (tx: Sql, item: Item): Promise<Result> => {
      const [result] = await this.runIn(tx, [item], write);
      if (result instanceof Error) throw result;
      return result as Result;
    };
    return (item) =>
      writeOnce(this.dataSource, item.key, () => transaction(this.dataSource, (tx) => run(tx, item), options));
  }

  /**
   * Runs the writes in one transaction. If the database, the rule or a key rejects one of them, every write runs alone,
   * so that the others do not fail.
   */
  private async runAll<Item extends Write, Result>(
    items: Item[],
    write: BatchWrite<Entity, Item, Result>,
    options?: TransactionOptions,
  ): Promise<(Result | Error)[]> {
    try {
      return await transaction(this.dataSource, (tx) => this.runIn(tx, items, write), options);
    } catch (error) {
      const isOfOne = error instanceof QueryFailedError || error instanceof HttpException;
      if (items.length === 1 || !isOfOne) return items.map(() => error as Error);
      return (await Promise.all(items.map((item) => this.runAll([item], write, options)))).flat();
    }
  }

  private async runIn<Item extends Write, Result>(
    tx: Sql,
    items: Item[],
    write: BatchWrite<Entity, Item, Result>,
  ): Promise<(Result | Error)[]> {
    const results = await write(this.operations(tx), items);
    const keyed: KeyedResult[] = [];
    items.forEach(({ key }, index) => {
      const result = results[index];
      if (key !== undefined && hasSucceeded(result)) keyed.push({ key, result });
    });
    if (keyed.length > 0) await saveResults(this.dataSource, tx, keyed);
    return results;
  }
}

/** Tells whether a write has found its record and was not rejected. */
function hasSucceeded(result: unknown): boolean {
  return result !== undefined && result !== false && !(result instanceof Error);
}
