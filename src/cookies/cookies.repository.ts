import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { DataSource, Repository } from 'typeorm';
import { keepIdsAhead } from '../database/kept-ids.js';
import { openSnapshot, type Snapshot } from '../database/snapshot.js';
import { committed, transaction } from '../database/transactions.js';
import type { Sql } from '../database/sql.js';
import { type Account, ResourceStorage, type Version } from '../storage/resource-storage.js';
import { Cookie } from './cookie.entity.js';
import type { Flavor, Size } from './cookie.values.js';

/** The four members of a cookie that clients see. */
export type CookieRecord = Pick<Cookie, 'id' | 'flavor' | 'size' | 'wish'>;

/** A cookie to be stored, with the id that it shall have or without one. */
export type NewCookie = Omit<CookieRecord, 'id'> & { readonly id?: number };

export interface StoredCookie {
  readonly cookie: CookieRecord;
  readonly version: Version;
}

/** Looks at the record inside the transaction that is about to change it; what it throws undoes the transaction. */
export type WriteCheck = (current: Version) => void;

export interface CookieSelection {
  readonly flavors?: readonly Flavor[];
  readonly sizes?: readonly Size[];
  readonly order: 'ascending' | 'descending';
  /** Only records beyond this id, in the direction of the order. */
  readonly after?: number;
}

type Row = CookieRecord & Version;

/** Records read at once when a list is as long as it is. */
const PAGE = 1000;

/** The only place that knows how cookies are stored. */
@Injectable()
export class CookiesRepository {
  constructor(
    @InjectRepository(Cookie) private readonly cookies: Repository<Cookie>,
    private readonly storage: ResourceStorage,
  ) {}

  private get dataSource(): DataSource {
    return this.cookies.manager.dataSource;
  }

  async findOne(id: number): Promise<StoredCookie | undefined> {
    return this.read(committed(this.dataSource), id);
  }

  /** @throws {StorageFullError} */
  create(values: Omit<CookieRecord, 'id'>): Promise<StoredCookie> {
    const { flavor, size, wish } = values;
    return transaction(this.dataSource, async (tx) => {
      const version = await this.storage.reserve(tx);
      const [row] = await tx.sql<{ id: number }[]>`
        INSERT INTO cookies (flavor, size, wish, revision)
        VALUES (${flavor}, ${size}, ${wish}, ${version.revision}) RETURNING id`;
      return { cookie: { id: row!.id, flavor, size, wish }, version };
    });
  }

  /**
   * Creates many in the caller's transaction: all of them with the ids that they bring, or all with new ones.
   * @throws {StorageFullError} when there is not room for all
   * @throws {QueryFailedError} when an id exists already
   */
  async createMany(transaction: Sql, records: readonly NewCookie[]): Promise<void> {
    if (records.length === 0) return;
    const { revision } = await this.storage.reserveMany(transaction, records.length);
    const keepsIds = records[0]!.id !== undefined;
    const rows = records.map(({ id, flavor, size, wish }) => [...(keepsIds ? [id] : []), flavor, size, wish, revision]);
    const row = `(${placeholders(rows[0]!)})`;
    await transaction.query(
      `INSERT INTO cookies (${keepsIds ? 'id, ' : ''}flavor, size, wish, revision) VALUES ${rows.map(() => row).join(', ')}`,
      rows.flat(),
    );
    if (keepsIds)
      await keepIdsAhead(this.dataSource, transaction, 'cookies', Math.max(...records.map(({ id }) => id!)));
  }

  /** Those of the ids that exist. */
  async existing(ids: readonly number[]): Promise<number[]> {
    const rows = await committed(this.dataSource).query<{ id: number }[]>(
      `SELECT id FROM cookies WHERE id IN (${placeholders(ids)}) ORDER BY id`,
      [...ids],
    );
    return rows.map(({ id }) => Number(id));
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
      const current = await this.read(tx, id);
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
        const current = await this.read(tx, id);
        if (current === undefined) return false;
        check(current.version);
        await tx.sql`DELETE FROM cookies WHERE id = ${id}`;
        await this.storage.release(tx);
        return true;
      },
      { freesRoom: true },
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
      return new CookiesSnapshot(snapshot, await this.storage.account(snapshot));
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  private async read(source: Sql, id: number): Promise<StoredCookie | undefined> {
    const [row] = await source.sql<Row[]>`
      SELECT cookies.id, flavor, size, wish, cookies.revision, epoch FROM cookies, storage
      WHERE cookies.id = ${id} AND resource = ${this.storage.resource}`;
    if (row === undefined) return undefined;
    const { epoch, revision, ...cookie } = row;
    return { cookie, version: { epoch, revision } };
  }
}

/** Records as the members of a JSON array, without its brackets. The engine writes them: no object is made for any. */
export interface JsonPage {
  readonly records: string;
  readonly count: number;
  /** The id of the last record. */
  readonly last: number;
}

/** All cookies as they were at one moment. */
export class CookiesSnapshot {
  constructor(
    private readonly snapshot: Snapshot,
    readonly account: Account,
  ) {}

  /** At most `limit` of the selected cookies; none without any. */
  async first(limit: number, { flavors, sizes, order, after }: CookieSelection): Promise<JsonPage | undefined> {
    const [direction, beyond] = order === 'descending' ? ['DESC', '<'] : ['ASC', '>'];
    const conditions = [
      ...(after ? [`id ${beyond} ?`] : []),
      ...(flavors ? [`flavor IN (${placeholders(flavors)})`] : []),
      ...(sizes ? [`size IN (${placeholders(sizes)})`] : []),
    ];
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
    const [page] = await this.snapshot.query<JsonPage[]>(
      `SELECT group_concat(record, ',' ORDER BY id ${direction}) AS records, count(*) AS count,
        ${order === 'descending' ? 'min' : 'max'}(id) AS last
       FROM (SELECT id, ${RECORD} AS record FROM cookies ${where} ORDER BY id ${direction} LIMIT ?)`,
      [...(after ? [after] : []), ...(flavors ?? []), ...(sizes ?? []), limit],
    );
    return page!.count > 0 ? page : undefined;
  }

  /** All of the selected cookies, a page at a time. */
  async *pages(selection: CookieSelection): AsyncGenerator<JsonPage, undefined> {
    let page = await this.first(PAGE, selection);
    while (page !== undefined) {
      yield page;
      if (page.count < PAGE) return;
      page = await this.first(PAGE, { ...selection, after: page.last });
    }
  }

  /** The same as values, a page at a time, always by ascending id. */
  async *records({ flavors, sizes, after = 0 }: CookieSelection, limit = Infinity): AsyncGenerator<CookieRecord[]> {
    const conditions = [
      'id > ?',
      ...(flavors ? [`flavor IN (${placeholders(flavors)})`] : []),
      ...(sizes ? [`size IN (${placeholders(sizes)})`] : []),
    ];
    const sql = `SELECT id, flavor, size, wish FROM cookies WHERE ${conditions.join(' AND ')} ORDER BY id LIMIT ?`;
    for (let [last, left] = [after, limit]; left > 0;) {
      const wanted = Math.min(PAGE, left);
      const page = await this.snapshot.query<CookieRecord[]>(sql, [last, ...(flavors ?? []), ...(sizes ?? []), wanted]);
      if (page.length > 0) yield page;
      if (page.length < wanted) return;
      last = page.at(-1)!.id;
      left -= page.length;
    }
  }

  close(): void {
    this.snapshot.close();
  }
}

const RECORD = `'{"id":' || id || ',"flavor":"' || flavor || '","size":"' || size || '","wish":' || json_quote(wish) || '}'`;

const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
