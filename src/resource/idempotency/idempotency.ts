import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DataSource } from 'typeorm';
import { principalOf, subjectOf } from '../../auth/principal.js';
import { committed, engineOf, type Sql, transaction } from '../../database/engine.js';
import { OutcomeUnknownError } from '../../database/errors.js';
import { IDEMPOTENCY_KEY } from '../../http/body/raw-body.js';
import { ApiError, invalidRequest } from '../../http/errors/api-error.js';
import { targetOf } from '../../http/messages/request.js';

/** Milliseconds for which a result is kept. */
const LIFETIME = 24 * 3_600_000;
/** Visible ASCII without quote, backslash and comma. Node joins two fields by a comma. */
const BARE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;
/** A string of structured fields (RFC 9651 section 3.3.3). */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/;
const MOST_CHARACTERS = 255;
/** Maximum number of keys that one transaction deletes. */
const MOST_DELETED = 500;

/**
 * The `Idempotency-Key` of a POST (draft-ietf-httpapi-idempotency-key-header-06). The table has hashes, because a key
 * may be long, and because the table should not name subjects.
 */
export class IdempotencyKey {
  /** Hash of issuer, subject, path and key, because other subjects may use an equal key. */
  readonly id: string;
  /** Hash of the query and the body, which must be equal in a repetition. */
  readonly fingerprint: string;
  isUsed = false;

  constructor(
    key: string,
    request: FastifyRequest,
    readonly reply: FastifyReply,
  ) {
    const { pathname, search } = targetOf(request);
    this.id = sha256(JSON.stringify([subjectOf(request), pathname, key]));
    const { 'content-length': length = '0' } = request.headers;
    // A body that the handler reads as a stream has no content here; its length stands for it.
    const content = request.receivedBody?.content ?? (Number(length) > 0 ? length : '');
    this.fingerprint = sha256(JSON.stringify(search.slice(1)), content);
  }
}

/**
 * The key of a POST. Other methods have none: they are idempotent (PUT, DELETE) or have `If-Match` (PATCH). Its quotes,
 * which the draft demands, may be missing, because many clients send none.
 * @throws {ApiError} 400 when it is invalid
 */
export function idempotencyKeyOf(request: FastifyRequest, reply: FastifyReply): IdempotencyKey | undefined {
  if (request.method !== 'POST' || !(IDEMPOTENCY_KEY in request.headers)) return undefined;
  if (principalOf(request).subject === undefined)
    throw invalidKey('needs a token here, because a key is valid for one subject');
  const text = String(request.headers[IDEMPOTENCY_KEY]);
  const key = BARE.test(text) ? text : QUOTED.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1');
  if (key === undefined || key.length > MOST_CHARACTERS) throw invalidKey();
  return new IdempotencyKey(key, request, reply);
}

function sha256(text: string, content: Buffer | string = ''): string {
  return createHash('sha256').update(text).update(content).digest('base64url');
}

export function invalidKey(
  message = 'must be 1 to 255 visible ASCII characters, such as a UUID, in quotes if it has a comma, a quote or a backslash',
): ApiError {
  return invalidRequest([{ parameter: 'Idempotency-Key', message }]);
}

export function keyInUse(): ApiError {
  const message = 'A request with this Idempotency-Key is in progress; repeat it to get its response';
  const headers = { 'retry-after': '1' };
  return new ApiError(409, 'IDEMPOTENCY_KEY_IN_USE', message, { headers });
}

export function keyReused(): ApiError {
  const message = 'Another request had this Idempotency-Key, with another body; use a new key for each request';
  return new ApiError(422, 'IDEMPOTENCY_KEY_REUSED', message);
}

/** The ids of keys whose writes run in this process. */
const inProgress = new WeakMap<DataSource, Set<string>>();

/**
 * Runs `write`, which stores its result by `saveResults`, or returns the stored result of an earlier request with this
 * key. It stores no errors, although the IETF draft does: they change nothing, and a correct request may follow.
 * @throws {ApiError} 409 when a request with this key is in progress, 422 when another request had the key
 * @throws {Error} for a second write with one key, which would get the result of the first
 */
export async function writeOnce<T>(dataSource: DataSource, key: IdempotencyKey, write: () => Promise<T>): Promise<T> {
  if (key.isUsed) {
    throw new Error('Only one write may get the preconditions of a request: make all writes in one transaction');
  }
  key.isUsed = true;
  // This read waits for no writer, so a repetition also gets its response when nothing more can be stored.
  const stored = await findResult(dataSource, key);
  if (stored !== undefined) return replayResult(key, stored);
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
    return replayResult(key, faster);
  } finally {
    others.delete(key.id);
  }
}

interface StoredResult {
  readonly fingerprint: string;
  /** The result in the format of `v8.serialize`, as Base64. */
  readonly result: string;
}

async function findResult(dataSource: DataSource, { id }: IdempotencyKey): Promise<StoredResult | undefined> {
  const { committed, dialect } = engineOf(dataSource);
  const [row] = await committed.query<StoredResult[]>(
    `SELECT fingerprint, result FROM idempotency_keys WHERE id = ? AND expires > ${dialect.now}`,
    [id],
  );
  return row;
}

/** @throws {ApiError} 422 */
function replayResult<T>(key: IdempotencyKey, { fingerprint, result }: StoredResult): T {
  if (fingerprint !== key.fingerprint) throw keyReused();
  key.reply.header('idempotency-replayed', 'true');
  return deserialize(Buffer.from(result, 'base64')) as T;
}

/**
 * Stores the results of writes with a key in their transaction.
 * @throws {ApiError} 409 when another process has stored one of the keys; then the transaction must be rolled back
 */
export async function saveResults(
  dataSource: DataSource,
  tx: Sql,
  results: readonly { readonly key: IdempotencyKey; readonly result: unknown }[],
): Promise<void> {
  const { now } = engineOf(dataSource).dialect;
  const row = `(?, ?, ?, ${now} + ${LIFETIME})`;
  // A fixed order prevents deadlocks.
  const sorted = [...results].sort((one, other) => (one.key.id < other.key.id ? -1 : 1));
  const saved = await tx.query<unknown[]>(
    `INSERT INTO idempotency_keys (id, fingerprint, result, expires) VALUES ${sorted.map(() => row).join(', ')}
    ON CONFLICT (id) DO UPDATE
    SET fingerprint = excluded.fingerprint, result = excluded.result, expires = excluded.expires
    WHERE idempotency_keys.expires <= ${now} RETURNING id`,
    sorted.flatMap(({ key, result }) => [key.id, key.fingerprint, serialize(result).toString('base64')]),
  );
  if (saved.length < sorted.length) throw keyInUse();
}

/**
 * Deletes the expired keys. Every process does this, without `Leases.run`, which would write first and so fail on a
 * full volume. It writes only when a key has expired, and pauses after each transaction for others.
 */
export async function deleteExpiredKeys(dataSource: DataSource, signal: AbortSignal): Promise<void> {
  const expired = `expires <= ${engineOf(dataSource).dialect.now}`;
  const find = `SELECT id FROM idempotency_keys WHERE ${expired} ORDER BY expires LIMIT 1`;
  // The outer condition is for PostgreSQL, where another process may have stored a new result since the SELECT.
  const deletion = `DELETE FROM idempotency_keys WHERE ${expired} AND id IN
    (SELECT id FROM idempotency_keys WHERE ${expired} ORDER BY expires LIMIT ${MOST_DELETED})`;
  while (!signal.aborted && (await committed(dataSource).query<unknown[]>(find, [])).length > 0) {
    const started = performance.now();
    await transaction(dataSource, (tx) => tx.query(deletion, []), { reclaimsSpace: true });
    // Others have half of the time for their writes.
    await delay(performance.now() - started, undefined, { signal }).catch(() => undefined);
  }
}
