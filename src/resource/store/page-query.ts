import { conditionsOf, type RecordScope, type Selection, type SqlText, sqlText, where } from './selection.js';

/** With a plain parameter, SQLite recompiles the statement for each value (SQLITE_DBCONFIG_ENABLE_QPSG). */
export const LIMIT = 'LIMIT CAST(? AS bigint)';

/** The SQL of a selection. A list by id is a sorted list whose property is the id. */
export class PageQuery {
  private readonly table = this.scope.table;
  private readonly sortBy = this.selection.sortBy ?? 'id';
  readonly isById = this.sortBy === 'id';
  private readonly column = this.table.sortableColumn(this.sortBy);
  private readonly direction = this.selection.order === 'ascending' ? 'ASC' : 'DESC';
  private readonly beyond = this.selection.order === 'ascending' ? '>' : '<';
  // A column without its table could be an expression of the SELECT, such as `value` of `position`.
  private readonly orderBy = `ORDER BY ${(this.isById ? ['id'] : [this.column.name, 'id'])
    .map((name) => `${this.table.sqlName}.${name} ${this.direction}`)
    .join(', ')}`;
  /** Range of the sort property, and the condition of the scope that an index serves. */
  private readonly range: readonly SqlText[];
  private readonly filters: readonly SqlText[];

  constructor(
    private readonly scope: RecordScope,
    private readonly selection: Selection,
  ) {
    const { table, sortBy, isById } = this;
    const { ranges: { [sortBy]: range = {}, ...ranges } = {}, ...others } = selection;
    const rangeOfSort = conditionsOf(table, { ranges: { [sortBy]: range } });
    this.range = isById ? [...scope.indexed, ...rangeOfSort] : rangeOfSort;
    this.filters = [...(isById ? scope.others : scope.conditions), ...conditionsOf(table, { ...others, ranges })];
  }

  get isFiltered(): boolean {
    return this.filters.length > 0;
  }

  /**
   * The segments after a position: greater ids with the same value, then greater values, then records without a value.
   * A row value comparison `(value, id) > (?, ?)` would join the first two, but SQLite 3.53 uses only its first column.
   */
  segmentsBeyond(after: Selection['after']): (readonly SqlText[])[] {
    const { name, cursorPlaceholder } = this.column;
    const { range, beyond, isById } = this;
    const segments: (readonly SqlText[])[] = [];
    if (after === undefined) {
      segments.push(isById ? range : [sqlText(`${name} IS NOT NULL`), ...range]);
    } else if (after.value !== null) {
      const isEqual = sqlText(`${name} = ${cursorPlaceholder}`, after.value);
      if (!isById) segments.push([isEqual, ...range, sqlText(`id ${beyond} ?`, after.id)]);
      segments.push([sqlText(`${name} ${beyond} ${cursorPlaceholder}`, after.value), ...range]);
    }
    // Records without a value are in no range. Another version may store them in a column that is required here.
    if (isById || range.length > 0) return segments;
    const isNull = sqlText(`${name} IS NULL`);
    return [...segments, after?.value === null ? [isNull, sqlText(`id ${beyond} ?`, after.id)] : [isNull]];
  }

  all(conditions: readonly SqlText[]): SqlText {
    const { sql, parameters } = where(conditions);
    return sqlText(`FROM ${this.table.sqlName}${sql} ${this.orderBy}`, ...parameters);
  }

  matching(segment: readonly SqlText[]): SqlText {
    return this.all([...segment, ...this.filters]);
  }

  /** The matching rows among the first `scannedRows`. The inner LIMIT keeps SQLite on the index of the order. */
  scanned(segment: readonly SqlText[], scannedRows: number): SqlText {
    const { sql, parameters } = this.all(segment);
    const filters = where(this.filters);
    return {
      sql: `FROM (SELECT * ${sql} ${LIMIT}) AS scanned${filters.sql}`,
      parameters: [...parameters, scannedRows, ...filters.parameters],
    };
  }

  /** Selects the position of the row `offset` of `source`, as `value` and `id`. */
  position({ sql, parameters }: SqlText, offset: number): SqlText {
    return sqlText(`SELECT ${this.column.cursorValue} AS value, id ${sql} LIMIT 1 OFFSET ?`, ...parameters, offset);
  }

  /** Selects the first `limit` rows of `source` as one row: `records` as JSON, `count`, and by id also `last`. */
  records({ sql, parameters }: SqlText, limit: number): SqlText {
    const { recordJson, engine } = this.table;
    const columns = this.isById ? 'id' : `sorted_value ${this.direction}, id`;
    const value = this.isById ? '' : `${this.column.name} AS sorted_value, `;
    // PostgreSQL has no max(uuid) before version 18: `cursorValue` is its text.
    const last = this.isById ? `${this.direction === 'ASC' ? 'max' : 'min'}(${this.column.cursorValue})` : 'NULL';
    return {
      sql: `SELECT ${engine.dialect.join('record', columns, this.direction)} AS records, count(*) AS count, ${last} AS last
       FROM (SELECT ${value}id, ${recordJson} AS record ${sql} ${LIMIT}) AS page`,
      parameters: [...parameters, limit],
    };
  }
}
