import type { Dialect, Engine } from '../database/engine.js';
import type { Snapshot } from '../database/snapshot.js';
import type { Account } from '../storage/resource-storage.js';
import type { Cookie } from './cookie.entity.js';
import type { Flavor, Size } from './cookie.values.js';

/** The four properties of a cookie that clients see. */
export type CookieRecord = Pick<Cookie, 'id' | 'flavor' | 'size' | 'wish'>;

export interface CookieSelection {
  readonly flavors?: readonly Flavor[];
  readonly sizes?: readonly Size[];
  readonly order: 'ascending' | 'descending';
  /** Only records beyond this id, in the direction of the order; 0 selects all. */
  readonly after?: number;
}

/**
 * Records as the elements of a JSON array in UTF-8, without its brackets and without the commas between the chunks. The engine
 * writes them: no object is made for any, and on SQLite no string.
 */
export interface JsonPage {
  readonly chunks: readonly Buffer[];
  readonly count: number;
  /** The id of the last record. */
  readonly last: number;
}

/** Records read at once when a list is as long as it is. */
const PAGE = 1000;

/** No id is larger. */
const LARGEST_ID = Number.MAX_SAFE_INTEGER;

// A statement of SQLite holds the event loop from its start to its end. Within these bounds it takes 2 ms, even where every wish
// has 255 emoji; see docs/adr/0061-lists-yield-the-event-loop.md.
/** Rows that one statement may read in search of matching records. */
const SCANNED_ROWS = 2000;
/** Bytes of JSON that one statement should return, and the records it returns while their length is unknown. */
const JSON_LENGTH = 128 * 1024;
const FIRST_RECORDS = 200;

/** What the statement returns for a page; without records all but the count is null. */
interface PageRow {
  readonly records: Buffer | string;
  readonly count: number;
  readonly last: number;
}

/** What one statement found. */
interface Step {
  readonly page: JsonPage;
  /** The id beyond which the next statement goes on; absent when nothing is left. */
  readonly next?: number;
}

/** All cookies as they were at one moment. */
export class CookiesSnapshot {
  /** How many records one statement returns at most. */
  private recordsPerStep: number;

  constructor(
    private readonly snapshot: Snapshot,
    readonly account: Account,
    private readonly engine: Pick<Engine, 'dialect' | 'isRemote'>,
  ) {
    this.recordsPerStep = engine.isRemote ? PAGE : FIRST_RECORDS;
  }

  /** At most `limit` of the selected cookies; none without any. */
  async first(limit: number, selection: CookieSelection): Promise<JsonPage | undefined> {
    const pages: JsonPage[] = [];
    let missing = limit;
    let position: number | undefined = startOf(selection);
    // Most filters match something near the start.
    let scannedRows = Math.min(4 * limit, SCANNED_ROWS);
    while (missing > 0 && position !== undefined) {
      const { page, next }: Step = await this.step(selection, position, missing, scannedRows);
      if (page.count > 0) pages.push(page);
      missing -= page.count;
      position = next;
      scannedRows = SCANNED_ROWS;
    }
    return joined(pages);
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

  /** The same as values, a page at a time, always by ascending id. For commands: a page may take one long statement. */
  async *records({ flavors, sizes, after = 0 }: CookieSelection, limit = Infinity): AsyncGenerator<CookieRecord[]> {
    const conditions = ['id > ?', ...filters({ flavors, sizes })];
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

  /** The largest id that a cookie has ever had; 0 when there was none. */
  async lastGivenId(): Promise<number> {
    const sql = `SELECT ${this.engine.dialect.lastGivenId('cookies')} AS last`;
    const [row] = await this.snapshot.query<{ last: number | string }[]>(sql, []);
    return Number(row!.last);
  }

  close(): void {
    this.snapshot.close();
  }

  /** Reads at most `missing` of the selected cookies beyond `position`, within the bounds of one statement. */
  private async step(
    selection: CookieSelection,
    position: number,
    missing: number,
    scannedRows: number,
  ): Promise<Step> {
    const limit = Math.min(missing, this.recordsPerStep);
    const mustBound = !this.engine.isRemote && isFiltered(selection);
    const end = mustBound ? await this.endOfScan(selection, position, scannedRows) : undefined;
    const page = await this.read(selection, position, end, limit);
    if (page.count === limit) return { page, next: page.last };
    return { page, next: end };
  }

  /** The id of the row that is `scannedRows` beyond `position`; none when there are fewer. */
  private async endOfScan(
    selection: CookieSelection,
    position: number,
    scannedRows: number,
  ): Promise<number | undefined> {
    const { direction, beyond } = SQL_ORDER[selection.order];
    const [row] = await this.snapshot.query<{ id: number }[]>(
      `SELECT id FROM cookies WHERE id ${beyond} ? ORDER BY id ${direction} LIMIT 1 OFFSET ?`,
      [position, scannedRows - 1],
    );
    return row?.id;
  }

  /** @param end the last id to look at; without it all are looked at */
  private async read(
    selection: CookieSelection,
    position: number,
    end: number | undefined,
    limit: number,
  ): Promise<JsonPage> {
    const { direction, beyond, upTo, last } = SQL_ORDER[selection.order];
    const conditions = [`id ${beyond} ?`, ...(end === undefined ? [] : [`id ${upTo} ?`]), ...filters(selection)];
    const { dialect } = this.engine;
    const [row] = await this.snapshot.query<[PageRow]>(
      `SELECT ${dialect.join('record', 'id', direction)} AS records, count(*) AS count, ${last}(id) AS last
       FROM (SELECT id, ${recordIn(dialect)} AS record FROM cookies
             WHERE ${conditions.join(' AND ')} ORDER BY id ${direction} LIMIT ?) AS page`,
      [position, ...(end === undefined ? [] : [end]), ...(selection.flavors ?? []), ...(selection.sizes ?? []), limit],
    );
    if (row.count === 0) return { chunks: [], count: 0, last: 0 };
    const records = typeof row.records === 'string' ? Buffer.from(row.records) : row.records;
    this.learnLength(records.length / row.count);
    return { chunks: [records], count: row.count, last: row.last };
  }

  private learnLength(bytesPerRecord: number): void {
    if (this.engine.isRemote) return;
    const fitting = Math.floor(JSON_LENGTH / bytesPerRecord);
    this.recordsPerStep = Math.max(1, Math.min(PAGE, fitting));
  }
}

const SQL_ORDER = {
  ascending: { direction: 'ASC', beyond: '>', upTo: '<=', last: 'max' },
  descending: { direction: 'DESC', beyond: '<', upTo: '>=', last: 'min' },
} as const;

function startOf({ order, after }: CookieSelection): number {
  if (order === 'ascending') return after ?? 0;
  return after || LARGEST_ID + 1;
}

function isFiltered({ flavors, sizes }: CookieSelection): boolean {
  return flavors !== undefined || sizes !== undefined;
}

function filters({ flavors, sizes }: Pick<CookieSelection, 'flavors' | 'sizes'>): string[] {
  const conditions: string[] = [];
  if (flavors !== undefined) conditions.push(`flavor IN (${flavors.map(() => '?').join(', ')})`);
  if (sizes !== undefined) conditions.push(`size IN (${sizes.map(() => '?').join(', ')})`);
  return conditions;
}

/** Consecutive pages as one. */
function joined(pages: readonly JsonPage[]): JsonPage | undefined {
  const final = pages.at(-1);
  if (final === undefined || pages.length === 1) return final;
  return {
    chunks: pages.flatMap(({ chunks }) => chunks),
    count: pages.reduce((sum, { count }) => sum + count, 0),
    last: final.last,
  };
}

const recordIn = (dialect: Dialect): string =>
  `'{"id":' || id || ',"flavor":"' || flavor || '","size":"' || size || '","wish":' || ${dialect.json('wish')} || '}'`;
