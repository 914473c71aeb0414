import type { Snapshot, StatementLimits } from '../../database/engine.js';
import type { PublicRecord, ResourceEntity } from '../resource-entity.js';
import type { ResourceUsage } from '../usage/usage-counter.js';
import { bytesOf, joined, type JsonPage, LIMIT, PAGE, RecordsPerStatement, SortedPages } from './record-pages.js';
import type { ResourceTable } from './resource-table.js';
import { type Conditions, conditionsOf, type Selection } from './selection.js';

/** Largest id. */
const LARGEST_ID = Number.MAX_SAFE_INTEGER;

/** Result row of a page; without records, only `count` is not null. */
interface PageRow {
  readonly records: Buffer | string;
  readonly count: number;
  readonly last: number;
}

/** Result of one statement. */
interface Step {
  readonly page: JsonPage<number>;
  /** Start of the next statement (exclusive); absent at the end. */
  readonly next?: number;
}

/** A selection in SQL. */
interface Query {
  readonly order: (typeof SQL_ORDER)[Selection['order']];
  readonly conditions: Conditions;
}

/** A selection ordered by id. */
type IdSelection = Selection & { readonly after?: number };

/** The selection of a command of the command line. */
type RecordSelection = Pick<IdSelection, 'filters' | 'after'>;

/** A consistent snapshot of all records of a resource. */
export class ResourceSnapshot<Entity extends ResourceEntity> {
  private readonly recordsPerStatement: RecordsPerStatement;

  constructor(
    private readonly snapshot: Snapshot,
    readonly usage: ResourceUsage,
    private readonly table: ResourceTable,
  ) {
    this.recordsPerStatement = new RecordsPerStatement(this.limits);
  }

  private get limits(): StatementLimits {
    return this.table.engine.statementLimits;
  }

  private get sorted(): SortedPages {
    return new SortedPages(this.snapshot, this.table, this.recordsPerStatement);
  }

  /** The first `limit` selected records; `undefined` when there are none. */
  async first(limit: number, selection: Selection): Promise<JsonPage | undefined> {
    const { sortBy } = selection;
    if (sortBy !== undefined) return this.sorted.first(limit, selection, sortBy);
    const query = { order: SQL_ORDER[selection.order], conditions: conditionsOf(this.table, selection) };
    const pages: JsonPage<number>[] = [];
    let missing = limit;
    let position: number | undefined = startOf(selection as IdSelection);
    // Most filters match a row near the start.
    let scannedRows = Math.min(4 * limit, this.limits.scannedRows);
    while (missing > 0 && position !== undefined) {
      const { page, next }: Step = await this.step(query, position, missing, scannedRows);
      if (page.count > 0) pages.push(page);
      missing -= page.count;
      position = next;
      scannedRows = this.limits.scannedRows;
    }
    return joined(pages);
  }

  /** All selected records, page by page. */
  async *pages(selection: Selection): AsyncGenerator<JsonPage, undefined> {
    let page = await this.first(PAGE, selection);
    while (page !== undefined) {
      yield page;
      if (page.count < PAGE) return;
      page = await this.first(PAGE, { ...selection, after: page.last });
    }
  }

  /** All selected records as objects by ascending id, page by page. For the command line only: a statement may take long. */
  async *records(selection: RecordSelection, limit = Infinity): AsyncGenerator<PublicRecord<Entity>[]> {
    const { sqlName, selected } = this.table;
    const { sql, parameters } = conditionsOf(this.table, selection);
    const where = ['id > ?', ...sql].join(' AND ');
    const statement = `SELECT ${selected} FROM ${sqlName} WHERE ${where} ORDER BY id ${LIMIT}`;
    let last = selection.after ?? 0;
    let missing = limit;
    while (missing > 0) {
      const wanted = Math.min(PAGE, missing);
      const rows = await this.snapshot.query<Record<string, unknown>[]>(statement, [last, ...parameters, wanted]);
      if (rows.length > 0) yield rows.map((row) => this.table.fromRow(row)) as unknown as PublicRecord<Entity>[];
      if (rows.length < wanted) return;
      last = rows.at(-1)!['id'] as number;
      missing -= rows.length;
    }
  }

  /** Largest id ever assigned; 0 when there was none. */
  async lastGivenId(): Promise<number> {
    const sql = `SELECT ${this.table.engine.dialect.lastGivenId(this.table.name)} AS last`;
    const [row] = await this.snapshot.query<{ last: number | string }[]>(sql, []);
    return Number(row!.last);
  }

  close(): void {
    this.snapshot.close();
  }

  /** Reads up to `missing` selected records after `position` with one bounded statement. */
  private async step(query: Query, position: number, missing: number, scannedRows: number): Promise<Step> {
    const limit = Math.min(missing, this.recordsPerStatement.most);
    const mustBound = this.limits.scannedRows < Infinity && query.conditions.sql.length > 0;
    const end = mustBound ? await this.endOfScan(query, position, scannedRows) : undefined;
    const page = await this.read(query, position, end, limit);
    if (page.count === limit) return { page, next: page.last };
    return { page, next: end };
  }

  /** The id of the row `scannedRows` after `position`; `undefined` when there are fewer rows. */
  private async endOfScan({ order }: Query, position: number, scannedRows: number): Promise<number | undefined> {
    const { direction, beyond } = order;
    const [row] = await this.snapshot.query<{ id: number }[]>(
      `SELECT id FROM ${this.table.sqlName} WHERE id ${beyond} ? ORDER BY id ${direction} LIMIT 1 OFFSET ?`,
      [position, scannedRows - 1],
    );
    return row?.id;
  }

  /** @param end the last id to look at; without it all are looked at */
  private async read(
    { order, conditions }: Query,
    position: number,
    end: number | undefined,
    limit: number,
  ): Promise<JsonPage<number>> {
    const { direction, beyond, upTo, last } = order;
    const range = end === undefined ? [`id ${beyond} ?`] : [`id ${beyond} ?`, `id ${upTo} ?`];
    const { sqlName, recordJson, engine } = this.table;
    const [row] = await this.snapshot.query<[PageRow]>(
      `SELECT ${engine.dialect.join('record', 'id', direction)} AS records, count(*) AS count, ${last}(id) AS last
       FROM (SELECT id, ${recordJson} AS record FROM ${sqlName}
             WHERE ${[...range, ...conditions.sql].join(' AND ')} ORDER BY id ${direction} ${LIMIT}) AS page`,
      [position, ...(end === undefined ? [] : [end]), ...conditions.parameters, limit],
    );
    if (row.count === 0) return { chunks: [], count: 0, last: 0 };
    const records = bytesOf(row.records);
    this.recordsPerStatement.learn(records.length / row.count);
    return { chunks: [records], count: row.count, last: row.last };
  }
}

const SQL_ORDER = {
  ascending: { direction: 'ASC', beyond: '>', upTo: '<=', last: 'max' },
  descending: { direction: 'DESC', beyond: '<', upTo: '>=', last: 'min' },
} as const;

function startOf({ order, after }: IdSelection): number {
  if (order === 'ascending') return after ?? 0;
  return after || LARGEST_ID + 1;
}
