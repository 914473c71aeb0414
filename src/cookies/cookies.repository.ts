import { type DataSource, QueryFailedError, type Repository } from 'typeorm';
import { Batcher } from '../database/batcher.js';
import { type Dialect, engineOf } from '../database/engine.js';
import { advanceIdSequence } from '../database/id-sequence.js';
import { repeatRead } from '../database/repeat-read.js';
import { openSnapshot } from '../database/snapshot.js';
import { committed, transaction } from '../database/transactions.js';
import type { Sql } from '../database/sql.js';
import { StorageFullError } from '../storage/errors.js';
import type { Account, ResourceStorage, Version } from '../storage/resource-storage.js';
import type { Cookie } from './cookie.entity.js';
import { type CookieRecord, CookiesSnapshot } from './cookies-snapshot.js';

/** A cookie to be stored, with the id that it shall have or without one. */
export type NewCookie = Omit<CookieRecord, 'id'> & { readonly id?: number };

export interface StoredCookie {
  readonly cookie: CookieRecord;
  readonly version: Version;
}

/** Looks at the record inside the transaction that is about to change it; what it throws undoes the transaction. */
export type WriteCheck = (current: Version) => void;

/** The epoch is `null` where the resource has no `storage` row. */
type Row = CookieRecord & { readonly epoch: string | null; readonly revision: number };

/** Records that are stored by one statement, and that are read by one, at most. */
const LARGEST_CREATE = 100;
const LARGEST_READ = 500;

/** The only place that knows how cookies are stored. It does without Nest, since the command line does. */
export class CookiesRepository {
  constructor(
    private readonly cookies: Repository<Cookie>,
    private readonly storage: ResourceStorage,
  ) {}

  /** Creates that wait together share a transaction; each has its own outcome. */
  private readonly creates = new Batcher((cookies: NewCookie[]) => this.createAll(cookies), {
    maxBatchSize: LARGEST_CREATE,
    timeout: engineOf(this.dataSource).busyTimeout,
  });

  private readonly reads = engineOf(this.dataSource).isRemote
    ? new Batcher((ids: number[]) => this.readAll(committed(this.dataSource), ids), {
        maxBatchSize: LARGEST_READ,
        timeout: engineOf(this.dataSource).busyTimeout,
      })
    : undefined;

  private get dataSource(): DataSource {
    return this.cookies.manager.dataSource;
  }

  private get dialect(): Dialect {
    return engineOf(this.dataSource).dialect;
  }

  async findOne(id: number): Promise<StoredCookie | undefined> {
    if (this.reads !== undefined) return this.reads.load(id);
    return this.read(committed(this.dataSource), id);
  }

  /** @throws {StorageFullError} */
  create(cookie: Omit<NewCookie, 'id'>): Promise<StoredCookie> {
    return this.creates.load(cookie);
  }

  /**
   * Creates many in the caller's transaction: all of them with the ids that they bring, or all with new ones.
   * @throws {StorageFullError} when there is not room for all
   * @throws {QueryFailedError} when an id exists already
   */
  async createMany(transaction: Sql, records: readonly NewCookie[]): Promise<void> {
    const versions = await this.storage.reserveMany(transaction, records.length);
    await this.insertRows(transaction, records, versions);
    const ids = records.flatMap(({ id }) => id ?? []);
    if (ids.length > 0) await advanceIdSequence(this.dataSource, transaction, 'cookies', Math.max(...ids));
  }

  /** Gives no id up to this one again, such as the last one that another storage has given. */
  async advanceIds(transaction: Sql, lastGivenId: number): Promise<void> {
    // No id is given while its row is locked.
    await this.storage.touch(transaction);
    await advanceIdSequence(this.dataSource, transaction, 'cookies', lastGivenId);
  }

  /** Those of the ids that exist. */
  async existing(ids: readonly number[]): Promise<number[]> {
    const rows = await committed(this.dataSource).query<{ id: number }[]>(
      `SELECT id FROM cookies WHERE id IN (${placeholders(ids)}) ORDER BY id`,
      [...ids],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Changes the members given. When they are what they were, nothing changes, its version included.
   * @returns `undefined` when there is no such record
   */
  update(
    id: number,
    changes: Partial<Pick<Cookie, 'flavor' | 'size'>>,
    check: WriteCheck,
  ): Promise<StoredCookie | undefined> {
    return transaction(this.dataSource, async (tx) => {
      const current = await this.read(tx, id, this.dialect.forUpdate('cookies'));
      if (current === undefined) return undefined;
      check(current.version);
      const cookie: CookieRecord = { ...current.cookie, ...changes };
      if (cookie.flavor === current.cookie.flavor && cookie.size === current.cookie.size) return current;
      const version = await this.storage.touch(tx);
      await tx.sql`
        UPDATE cookies SET flavor = ${cookie.flavor}, size = ${cookie.size}, revision = ${version.revision} WHERE id = ${id}`;
      return { cookie, version };
    });
  }

  /** @returns whether there was such a record */
  delete(id: number, check: WriteCheck): Promise<boolean> {
    return transaction(
      this.dataSource,
      async (tx) => {
        const current = await this.read(tx, id, this.dialect.forUpdate('cookies'));
        if (current === undefined) return false;
        check(current.version);
        await tx.sql`DELETE FROM cookies WHERE id = ${id}`;
        await this.storage.release(tx);
        return true;
      },
      { reclaimsSpace: true },
    );
  }

  /** The version and the number of all cookies. */
  account(): Promise<Account> {
    return this.storage.account(committed(this.dataSource));
  }

  /** One state of all cookies, to be closed by whoever opened it. */
  async openSnapshot(): Promise<CookiesSnapshot> {
    const snapshot = await openSnapshot(this.dataSource);
    try {
      return new CookiesSnapshot(snapshot, await this.storage.account(snapshot), engineOf(this.dataSource));
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  /**
   * Lets `read` read one state of all cookies, and once more when the connection breaks: it closes what it was given, and has
   * sent nothing to the client when it rejects.
   */
  readSnapshot<T>(read: (snapshot: CookiesSnapshot) => Promise<T>): Promise<T> {
    return repeatRead(async () => read(await this.openSnapshot()));
  }

  private async createAll(cookies: NewCookie[]): Promise<(StoredCookie | Error)[]> {
    try {
      return await transaction(this.dataSource, (tx) => this.insert(tx, cookies));
    } catch (error) {
      // What the database refuses may be one of them; it must not fail the others.
      if (cookies.length === 1 || !(error instanceof QueryFailedError)) return cookies.map(() => error as Error);
      return (await Promise.all(cookies.map((cookie) => this.createAll([cookie])))).flat();
    }
  }

  private async insert(tx: Sql, cookies: NewCookie[]): Promise<(StoredCookie | Error)[]> {
    const versions = await this.storage.reserveUpTo(tx, cookies.length);
    const ids = await this.insertRows(tx, cookies.slice(0, versions.length), versions);
    return cookies.map(({ flavor, size, wish }, index) => {
      const version = versions[index];
      if (version === undefined) return new StorageFullError(this.storage.resource);
      return { cookie: { id: ids.get(version.revision)!, flavor, size, wish }, version };
    });
  }

  /**
   * @param cookies all with the ids that they bring, or all without
   * @returns the ids by revision: the order in which RETURNING gives its rows is not promised
   */
  private async insertRows(
    tx: Sql,
    cookies: readonly NewCookie[],
    versions: readonly Version[],
  ): Promise<Map<number, number>> {
    const [first] = cookies;
    if (first === undefined) return new Map();
    const keepsIds = first.id !== undefined;
    const rows = cookies.map(({ id, flavor, size, wish }, index) => {
      const values = [flavor, size, wish, versions[index]!.revision];
      return keepsIds ? [id, ...values] : values;
    });
    const row = `(${placeholders(rows[0]!)})`;
    const inserted = await tx.query<Pick<Cookie, 'id' | 'revision'>[]>(
      `INSERT INTO cookies (${keepsIds ? 'id, ' : ''}flavor, size, wish, revision)
       VALUES ${rows.map(() => row).join(', ')} RETURNING id, revision`,
      rows.flat(),
    );
    return new Map(inserted.map(({ id, revision }) => [revision, id]));
  }

  /** @param suffix what the dialect wants of a transaction that is about to change the record */
  private async read(source: Sql, id: number, suffix = ''): Promise<StoredCookie | undefined> {
    const [row] = await source.query<Row[]>(FIND + suffix, [this.storage.resource, id]);
    return row && this.stored(row);
  }

  private async readAll(source: Sql, ids: number[]): Promise<(StoredCookie | undefined)[]> {
    const rows = await source.query<Row[]>(FIND_ALL, [this.storage.resource, ids]);
    const found = new Map(rows.map((row) => [row.id, this.stored(row)]));
    return ids.map((id) => found.get(id));
  }

  private stored({ epoch, revision, ...cookie }: Row): StoredCookie {
    if (epoch === null) throw this.storage.rowMissing();
    return { cookie, version: { epoch, revision } };
  }
}

// No join with `storage`: from 3.54 on, SQLite takes three times as long for it as for this sub-select.
const FIND_ALL = `
  SELECT id, flavor, size, wish, revision, (SELECT epoch FROM storage WHERE resource = ?) AS epoch
  FROM cookies WHERE id = ANY(?)`;

const FIND = FIND_ALL.replace('ANY(?)', '?');

const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
