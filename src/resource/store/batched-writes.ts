import { HttpException } from '@nestjs/common';
import { type DataSource, QueryFailedError } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { engineOf, type Sql, transaction, type TransactionOptions } from '../../database/engine.js';
import type { Actor } from '../audit/actor.js';
import { type IdempotencyKey, saveResults, writeOnce } from '../idempotency/idempotency.js';

/** Maximum number of writes in one transaction. */
const LARGEST_WRITE = 100;

/** A write that may share a transaction with others. */
export interface Write {
  readonly key?: IdempotencyKey;
  /** The actor of the write; other writes of the transaction may have other actors. */
  readonly actor: Actor;
}

interface SharingOptions extends TransactionOptions {
  /** Lets writes that wait at the same time share a transaction. Otherwise each write has its own. */
  readonly isShared: boolean;
}

/**
 * Makes a function that runs one write in a transaction. A write with an `Idempotency-Key` runs once; see `writeOnce`.
 * @param write runs several writes in one transaction and returns a result or an error for each
 */
export function batchedWrites<Item extends Write, Result>(
  dataSource: DataSource,
  { isShared, ...options }: SharingOptions,
  write: (transaction: Sql, items: Item[]) => Promise<(Result | Error)[]>,
): (item: Item) => Promise<Result> {
  /**
   * Runs the writes in one transaction. If the database, the rule or a key rejects one of them, every write runs alone,
   * so that the others do not fail. The transaction of a single write is rolled back if its result is an error.
   */
  const runAll = async (items: Item[]): Promise<(Result | Error)[]> => {
    try {
      return await transaction(
        dataSource,
        async (tx) => {
          const results = await write(tx, items);
          if (items.length === 1) onlyResult(results);
          const keyed = items.map(({ key }, index) => ({ key, result: results[index] }));
          await saveResults(dataSource, tx, keyed.filter(hasSucceeded));
          return results;
        },
        options,
      );
    } catch (error) {
      const isOfOne = error instanceof QueryFailedError || error instanceof HttpException;
      if (items.length === 1 || !isOfOne) return items.map(() => error as Error);
      return (await Promise.all(items.map((item) => runAll([item])))).flat();
    }
  };
  const runAlone = async (item: Item): Promise<Result> => onlyResult(await runAll([item]));
  if (!isShared) return (item) => writeOnce(dataSource, item.key, () => runAlone(item));
  const { busyTimeout: timeout } = engineOf(dataSource);
  const batcher = new Batcher<Item, Result>(runAll, { kind: 'write', maxBatchSize: LARGEST_WRITE, timeout });
  return (item) => writeOnce(dataSource, item.key, () => batcher.load(item));
}

/** Tells whether a write has found its record and was not rejected. */
function hasSucceeded({ result }: { readonly result: unknown }): boolean {
  return result !== undefined && result !== false && !(result instanceof Error);
}

/** The result of a single write; throws it if it is an error. */
export function onlyResult<Result>([result]: readonly (Result | Error)[]): Result {
  if (result instanceof Error) throw result;
  return result as Result;
}
