import { deserialize, serialize } from 'node:v8';
import type { DataSource } from 'typeorm';
import { engineOf, type Sql, transaction } from '../../database/engine.js';
import { OutcomeUnknownError } from '../../database/errors.js';
import { keyInUse, keyReused } from './idempotency-errors.js';
import type { IdempotencyKey } from './idempotency-key.js';
import type { StoredResult } from './stored-result.entity.js';

/** Milliseconds for which a result is kept. */
const LIFETIME = 24 * 3_600_000;

/** The ids of keys whose writes run in this process. */
const inProgress = new WeakMap<DataSource, Set<string>>();

/** The result of a write, and the key of its request. */
export interface KeyedResult {
  readonly key: IdempotencyKey;
  readonly result: unknown;
}

/**
 * Runs `write`, or returns what it has returned at an earlier request with this key; without a key it just runs. The
 * response follows from the result, so a repetition gets the same one. `write` stores its result by `saveResults`.
 *
 * Only successes are stored, where the draft stores errors, too: an error has changed nothing, and the client may
 * correct its request and send it again.
 * @throws {ApiError} 409 when a request with this key is in progress, 422 when another request had the key
 */
export function writeOnce<T>(
  dataSource: DataSource,
  key: IdempotencyKey | undefined,
  write: () => Promise<T>,
): Promise<T> {
  return key === undefined ? write() : replayOrWrite(dataSource, key, write);
}

/** Runs `work` in a transaction that also stores its result; see `writeOnce`. */
export function transactionOnce<T>(
  dataSource: DataSource,
  key: IdempotencyKey | undefined,
  work: (transaction: Sql) => Promise<T>,
): Promise<T> {
  if (key === undefined) return transaction(dataSource, work);
  return writeOnce(dataSource, key, () =>
    transaction(dataSource, async (tx) => {
      const result = await work(tx);
      await saveResults(dataSource, tx, [{ key, result }]);
      return result;
    }),
  );
}

async function replayOrWrite<T>(dataSource: DataSource, key: IdempotencyKey, write: () => Promise<T>): Promise<T> {
  key.use();
  // This read waits for no writer, so a repetition also gets its response when nothing more can be stored.
  const stored = await findResult(dataSource, key);
  if (stored !== undefined) return replay(key, stored);
  const others = inProgress.get(dataSource) ?? new Set();
  inProgress.set(dataSource, others);
  if (others.has(key.id)) throw keyInUse();
  others.add(key.id);
  try {
    return await write();
  } catch (error) {
    if (error instanceof OutcomeUnknownError) throw new OutcomeUnknownError(error.message, error.cause, true);
    // Another process may have been faster: then its key, or its change, has made this write fail.
    const faster = await findResult(dataSource, key).catch(() => undefined);
    if (faster === undefined) throw error;
    return replay(key, faster);
  } finally {
    others.delete(key.id);
  }
}

type Stored = Pick<StoredResult, 'fingerprint' | 'result'>;

async function findResult(dataSource: DataSource, { id }: IdempotencyKey): Promise<Stored | undefined> {
  const { committed, dialect } = engineOf(dataSource);
  const [row] = await committed.query<Stored[]>(
    `SELECT fingerprint, result FROM idempotency_keys WHERE id = ? AND expires > ${dialect.now}`,
    [id],
  );
  return row;
}

/** @throws {ApiError} 422 */
function replay<T>(key: IdempotencyKey, { fingerprint, result }: Stored): T {
  if (fingerprint !== key.fingerprint) throw keyReused();
  key.markReplayed();
  return deserialize(Buffer.from(result, 'base64')) as T;
}

/**
 * Stores the results of writes, at least one, in their transaction.
 * @throws {ApiError} 409 when another process has stored one of the keys; then the transaction must be rolled back
 */
export async function saveResults(
  dataSource: DataSource,
  transaction: Sql,
  results: readonly KeyedResult[],
): Promise<void> {
  const { now } = engineOf(dataSource).dialect;
  const row = `(?, ?, ?, ${now} + ${LIFETIME})`;
  // In one order everywhere, which prevents deadlocks.
  const sorted = [...results].sort((one, other) => (one.key.id < other.key.id ? -1 : 1));
  const saved = await transaction.query<unknown[]>(
    `INSERT INTO idempotency_keys (id, fingerprint, result, expires) VALUES ${sorted.map(() => row).join(', ')}
    ON CONFLICT (id) DO UPDATE
    SET fingerprint = excluded.fingerprint, result = excluded.result, expires = excluded.expires
    WHERE idempotency_keys.expires <= ${now} RETURNING id`,
    sorted.flatMap(({ key, result }) => [key.id, key.fingerprint, serialize(result).toString('base64')]),
  );
  if (saved.length < sorted.length) throw keyInUse();
}
