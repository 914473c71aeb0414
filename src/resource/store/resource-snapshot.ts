import type { Snapshot } from '../../database/engine.js';
import type { Id } from '../id-kinds.js';
import type { PublicRecord, AnyResourceEntity } from '../resource-entity.js';
import type { ResourceUsage } from '../usage/usage-counter.js';
import { PageQuery } from './page-query.js';
import type { RecordScope, Selection, SortPosition, SqlText } from './selection.js';

/** Page size of a list without `limit`. */
export const PAGE = 1000;

/** Records as JSON array elements in UTF-8, each after a comma, so that chunks can be concatenated. */
export interface JsonPage {
  readonly chunks: readonly Buffer[];
  readonly count: number;
  readonly last: SortPosition;
}

/** `records` is `null` when there are none. */
type PageRow = { readonly records: Buffer | string | null; readonly count: number; readonly last: Id };

export class ResourceSnapshot<Entity extends AnyResourceEntity> {
  private readonly table = this.scope.table;
  private readonly limits = this.table.engine.statementLimits;
  /** Maximum number of records of one statement, adapted to their average size. */
  private mostRecords = Math.min(PAGE, this.limits.firstRecords);

  constructor(
    private readonly snapshot: Snapshot,
    readonly usage: ResourceUsage,
    private readonly scope: RecordScope,
  ) {}

  /** The first `limit` selected records; `undefined` when there are none. */
  async first(limit: number, selection: Selection): Promise<JsonPage | undefined> {
    const query = new PageQuery(this.scope, selection);
    const chunks: Buffer[] = [];
    let count = 0;
    let last: SortPosition | undefined;
    let segments = query.segmentsBeyond(selection.after);
    while (count < limit && segments.length > 0) {
      const { page, next } = await this.step(query, segments[0]!, limit - count);
      if (page !== undefined) {
        chunks.push(...page.chunks);
        count += page.count;
        last = page.last;
      }
      segments = next === undefined ? segments.slice(1) : query.segmentsBeyond(next);
    }
    return last && { chunks, count, last };
  }

  async *pages(selection: Selection): AsyncGenerator<JsonPage, undefined> {
    let page = await this.first(PAGE, selection);
    while (page !== undefined) {
      yield page;
      if (page.count < PAGE) return;
      page = await this.first(PAGE, { ...selection, after: page.last });
    }
  }

  /**
   * Up to `limit` selected records as a GET returns them, page by page. Only for the command line: it may take long.
   * @throws {Error} for text that is not in UTF-8, and for values that do not fit their columns: SQLite stores both
   */
  async *records(selection: Selection, limit = Infinity): AsyncGenerator<PublicRecord<Entity>[]> {
    let missing = limit;
    for await (const { chunks, count } of this.pages(selection)) {
      const elements = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
      const records = JSON.parse(`[${elements.slice(1)}]`) as PublicRecord<Entity>[];
      yield records.slice(0, missing);
      missing -= count;
      if (missing <= 0) return;
    }
  }

  /** Largest id that the sequence has given; 0 if it has given none, or if the ids come from no sequence. */
  async lastGivenId(): Promise<number> {
    if (this.table.ids.next !== undefined) return 0;
    const sql = `SELECT ${this.table.engine.dialect.lastGivenId(this.table.name)} AS last`;
    const [row] = await this.snapshot.query<[{ last: number }]>(sql, []);
    return row.last;
  }

  close(): void {
    this.snapshot.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Reads with one bounded statement. The next one begins after `next`, which is absent at the end of the segment. */
  private async step(query: PageQuery, segment: readonly SqlText[], missing: number) {
    const { scannedRows } = this.limits;
    const limit = Math.min(missing, this.mostRecords);
    const mustBound = scannedRows < Infinity && query.isFiltered;
    const end = mustBound ? await this.positionAt(query, query.all(segment), scannedRows - 1) : undefined;
    const source = mustBound ? query.scanned(segment, scannedRows) : query.matching(segment);
    const page = await this.read(query, source, limit);
    return { page, next: page?.count === limit ? page.last : end };
  }

  private async read(query: PageQuery, source: SqlText, limit: number): Promise<JsonPage | undefined> {
    const { sql, parameters } = query.records(source, limit);
    const [{ records, count, last }] = await this.snapshot.query<[PageRow]>(sql, parameters);
    if (records === null || count === 0) return undefined;
    const json = typeof records === 'string' ? Buffer.from(records) : records;
    const fitting = Math.floor((this.limits.jsonBytes * count) / json.length);
    // At most twice as many as before, because the records of this statement may be the shortest.
    this.mostRecords = Math.max(1, Math.min(PAGE, 2 * this.mostRecords, fitting));
    const position = query.isById ? { value: last, id: last } : await this.positionAt(query, source, count - 1);
    return { chunks: [json], count, last: position! };
  }

  private async positionAt(query: PageQuery, source: SqlText, offset: number): Promise<SortPosition | undefined> {
    const { sql, parameters } = query.position(source, offset);
    return (await this.snapshot.query<SortPosition[]>(sql, parameters))[0];
  }
}
