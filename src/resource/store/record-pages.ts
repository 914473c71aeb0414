import type { Snapshot, StatementLimits } from '../../database/engine.js';
import type { RecordColumn } from './record-columns.js';
import type { ResourceTable } from './resource-table.js';
import { type Conditions, conditionsOf, type Selection, type SortPosition } from './selection.js';

/**
 * Records as JSON array elements in UTF-8, each after a comma, so that chunks can be concatenated. The engine writes the JSON.
 */
export interface JsonPage<Last extends number | SortPosition = number | SortPosition> {
  readonly chunks: readonly Buffer[];
  readonly count: number;
  /** The last record: its id, or its position in a sorted list. */
  readonly last: Last;
}

/** Joins consecutive pages. */
export function joined<Last extends number | SortPosition>(
  pages: readonly JsonPage<Last>[],
): JsonPage<Last> | undefined {
  const final = pages.at(-1);
  if (final === undefined || pages.length === 1) return final;
  return {
    chunks: pages.flatMap(({ chunks }) => chunks),
    count: pages.reduce((sum, { count }) => sum + count, 0),
    last: final.last,
  };
}

/** Copies the JSON of an engine into a Buffer. */
export function bytesOf(records: Buffer | string): Buffer {
  return typeof records === 'string' ? Buffer.from(records) : records;
}

/** Page size of a list without `limit`. */
export const PAGE = 1000;

/**
 * `LIMIT` with a parameter inside an expression. With a plain parameter, SQLite recompiles the statement for each value
 * (https://sqlite.org/c3ref/c_dbconfig_defensive.html, SQLITE_DBCONFIG_ENABLE_QPSG).
 */
export const LIMIT = 'LIMIT CAST(? AS bigint)';

/** Limits the number of records of one statement by their average size. */
export class RecordsPerStatement {
  most: number;

  constructor(private readonly limits: StatementLimits) {
    this.most = Math.min(PAGE, limits.firstRecords);
  }

  /** Call it with the average length of the returned records in bytes. */
  learn(bytesPerRecord: number): void {
    const fitting = Math.floor(this.limits.jsonBytes / bytesPerRecord);
    this.most = Math.max(1, Math.min(PAGE, fitting));
  }
}

/** A selection in SQL. */
interface Query {
  readonly column: RecordColumn;
  readonly direction: 'ASC' | 'DESC';
  readonly beyond: '>' | '<';
  /** Direction of the index scan. */
  readonly orderBy: string;
  /** Range of the sort property; the index serves it. */
  readonly range: Conditions;
  /** All other filters; the engine must read rows for them. */
  readonly filters: Conditions;
}

/** A contiguous part of the index, which both engines read in order without sorting. */
type Segment = Conditions;

/** The part of a SELECT from FROM to ORDER BY. */
interface Source {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Result of one statement. */
interface Step {
  readonly page?: JsonPage<SortPosition>;
  /** Start of the next statement (exclusive); absent at the end of the segment. */
  readonly next?: SortPosition;
}

/** Pages of a snapshot in the order of an indexed property. */
export class SortedPages {
  constructor(
    private readonly snapshot: Snapshot,
    private readonly table: ResourceTable,
    private readonly recordsPerStatement: RecordsPerStatement,
  ) {}

  private get largestScan(): number {
    return this.table.engine.statementLimits.scannedRows;
  }

  /** The first `limit` selected records; `undefined` when there are none. */
  async first(limit: number, selection: Selection, sortBy: string): Promise<JsonPage | undefined> {
    const query = this.queryOf(selection, sortBy);
    const pages: JsonPage<SortPosition>[] = [];
    let missing = limit;
    let segments = segmentsBeyond(query, selection.after as SortPosition | undefined);
    // Most filters match a row near the start.
    let scannedRows = Math.min(4 * limit, this.largestScan);
    while (missing > 0 && segments.length > 0) {
      const { page, next } = await this.step(query, segments[0]!, missing, scannedRows);
      if (page !== undefined) pages.push(page);
      missing -= page?.count ?? 0;
      segments = next === undefined ? segments.slice(1) : segmentsBeyond(query, next);
      scannedRows = this.largestScan;
    }
    return joined(pages);
  }

  private queryOf({ order, filters, ranges = {} }: Selection, sortBy: string): Query {
    const { [sortBy]: range, ...otherRanges } = ranges;
    const column = this.table.sortableColumn(sortBy);
    const direction = order === 'ascending' ? 'ASC' : 'DESC';
    return {
      column,
      direction,
      beyond: order === 'ascending' ? '>' : '<',
      orderBy: `ORDER BY ${column.name} ${direction}, id ${direction}`,
      range: conditionsOf(this.table, range === undefined ? {} : { ranges: { [sortBy]: range } }),
      filters: conditionsOf(this.table, { filters, ranges: otherRanges }),
    };
  }

  /** Reads up to `missing` selected records of a segment with one bounded statement. */
  private async step(query: Query, segment: Segment, missing: number, scannedRows: number): Promise<Step> {
    const limit = Math.min(missing, this.recordsPerStatement.most);
    const mustBound = this.largestScan < Infinity && query.filters.sql.length > 0;
    const end = mustBound ? await this.placeAt(query, this.all(query, segment), scannedRows - 1) : undefined;
    const source = mustBound ? this.scanned(query, segment, scannedRows) : this.matching(query, segment);
    const { records, count } = await this.read(query, source, limit);
    if (count === 0) return { next: end };
    const last = (await this.placeAt(query, source, count - 1))!;
    this.recordsPerStatement.learn(records.length / count);
    return { page: { chunks: [records], count, last }, next: count === limit ? last : end };
  }

  /** Selects all rows of the segment. */
  private all({ orderBy }: Query, { sql, parameters }: Segment): Source {
    return { sql: `FROM ${this.table.sqlName}${where(sql)} ${orderBy}`, parameters };
  }

  /** Selects the rows that match the filters. */
  private matching(query: Query, segment: Segment): Source {
    const sql = [...segment.sql, ...query.filters.sql];
    return this.all(query, { sql, parameters: [...segment.parameters, ...query.filters.parameters] });
  }

  /**
   * Selects the matching rows among the first rows of the segment. The inner LIMIT stops SQLite from using the index of a filter
   * and sorting the result.
   */
  private scanned(query: Query, segment: Segment, scannedRows: number): Source {
    const { sql, parameters } = this.all(query, segment);
    return {
      sql: `FROM (SELECT * ${sql} ${LIMIT}) AS scanned${where(query.filters.sql)}`,
      parameters: [...parameters, scannedRows, ...query.filters.parameters],
    };
  }

  private async placeAt({ column }: Query, source: Source, offset: number): Promise<SortPosition | undefined> {
    const [row] = await this.snapshot.query<{ sorted_value: SortPosition['value']; id: number }[]>(
      `SELECT ${column.cursorValue} AS sorted_value, id ${source.sql} LIMIT 1 OFFSET ?`,
      [...source.parameters, offset],
    );
    return row === undefined ? undefined : { value: row.sorted_value, id: row.id };
  }

  private async read(
    { column, direction }: Query,
    source: Source,
    limit: number,
  ): Promise<{ records: Buffer; count: number }> {
    const { recordJson, engine } = this.table;
    const [row] = await this.snapshot.query<[{ records: Buffer | string | null; count: number }]>(
      `SELECT ${engine.dialect.join('record', `sorted_value ${direction}, id`, direction)} AS records, count(*) AS count
       FROM (SELECT ${column.name} AS sorted_value, id, ${recordJson} AS record ${source.sql} ${LIMIT}) AS page`,
      [...source.parameters, limit],
    );
    return { records: bytesOf(row.records ?? ''), count: row.count };
  }
}

/**
 * The segments after a position: greater ids with the same value, then greater values, then records without a value. A row value
 * comparison `(value, id) > (?, ?)` would join the first two, but SQLite 3.53 uses only its first column.
 */
function segmentsBeyond({ column, beyond, range }: Query, after: SortPosition | undefined): Segment[] {
  const { name, cursorPlaceholder: placeholder, isNullable } = column;
  const segments: Segment[] = [];
  const add = (sql: readonly string[], parameters: readonly unknown[]): void => void segments.push({ sql, parameters });
  if (after === undefined) {
    add(isNullable ? [`${name} IS NOT NULL`, ...range.sql] : range.sql, range.parameters);
  } else if (after.value !== null) {
    const parameters = [after.value, ...range.parameters];
    add([`${name} = ${placeholder}`, ...range.sql, `id ${beyond} ?`], [...parameters, after.id]);
    add([`${name} ${beyond} ${placeholder}`, ...range.sql], parameters);
  }
  // Records without a value are in no range.
  if (!isNullable || range.sql.length > 0) return segments;
  if (after?.value === null) add([`${name} IS NULL`, `id ${beyond} ?`], [after.id]);
  else add([`${name} IS NULL`], []);
  return segments;
}

const where = (sql: readonly string[]): string => (sql.length === 0 ? '' : ` WHERE ${sql.join(' AND ')}`);
