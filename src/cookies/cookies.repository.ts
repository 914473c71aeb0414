import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { DataSource, Repository } from 'typeorm';
import { type Dialect, engineOf } from '../database/engine.js';
import { GatheredReads } from '../database/gathered-reads.js';
import { openSnapshot, type Snapshot } from '../database/snapshot.js';
import { committed, transaction } from '../database/transactions.js';
import type { Sql } from '../database/sql.js';
import { type Account, ResourceStorage, type Version } from '../storage/resource-storage.js';
import { Cookie } from './cookie.entity.js';
import type { Flavor, Size } from './cookie.values.js';

/** The four members of a cookie that clients see. */
export type CookieRecord = Pick<Cookie, 'id' | 'flavor' | 'size' | 'wish'>;

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

  private readonly reads = engineOf(this.dataSource).isRemote
    ? new GatheredReads((ids) => this.readAll(committed(this.dataSource), ids))
    : undefined;

  private get dataSource(): DataSource {
    return this.cookies.manager.dataSource;
  }

  private get dialect(): Dialect {
    return engineOf(this.dataSource).dialect;
  }

  async findOne(id: number): Promise<StoredCookie | undefined> {
    if (this.reads !== undefined) return this.reads.find(id);
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
      return new CookiesSnapshot(snapshot, await this.storage.account(snapshot), this.dialect);
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  /** @param suffix what the dialect wants of a transaction that is about to change the record */
  private async read(source: Sql, id: number, suffix = ''): Promise<StoredCookie | undefined> {
    const [row] = await source.query<Row[]>(FIND + suffix, [id, this.storage.resource]);
    return row && stored(row);
  }

  private async readAll(source: Sql, ids: number[]): Promise<Map<number, StoredCookie>> {
    const rows = await source.query<Row[]>(FIND_ALL, [ids, this.storage.resource]);
    return new Map(rows.map((row) => [row.id, stored(row)]));
  }
}

/** Records as the members of a JSON array, without its brackets. The engine writes them: no object is made for any. */
export interface JsonPage {
  readonly records: string;
  readonly count: number;
  /** The id of the last record. */
  readonly last: number;
}

const FIND_ALL = `
  SELECT cookies.id, flavor, size, wish, cookies.revision, epoch FROM cookies, storage
  WHERE cookies.id = ANY(?) AND resource = ?`;

const FIND = FIND_ALL.replace('ANY(?)', '?');

function stored({ epoch, revision, ...cookie }: Row): StoredCookie {
  return { cookie, version: { epoch, revision } };
}

/** All cookies as they were at one moment. */
export class CookiesSnapshot {
  constructor(
    private readonly snapshot: Snapshot,
    readonly account: Account,
    private readonly dialect: Dialect,
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
      `SELECT string_agg(record, ',' ORDER BY id ${direction}) AS records, count(*) AS count,
        ${order === 'descending' ? 'min' : 'max'}(id) AS last
       FROM (SELECT id, ${recordIn(this.dialect)} AS record FROM cookies ${where} ORDER BY id ${direction} LIMIT ?) AS page`,
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

  close(): void {
    this.snapshot.close();
  }
}

const recordIn = (dialect: Dialect): string =>
  `'{"id":' || id || ',"flavor":"' || flavor || '","size":"' || size || '","wish":' || ${dialect.json('wish')} || '}'`;

const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
