import { type Conditions, conditionsOf, joinConditions, type RecordScope, type Selection } from './selection.js';

/** With a plain parameter, SQLite recompiles the statement for each value (SQLITE_DBCONFIG_ENABLE_QPSG). */
export const LIMIT = 'LIMIT CAST(? AS bigint)';

export interface SqlText {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

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
  private readonly range: Conditions;
  private readonly filters: Conditions;
  readonly isFiltered: boolean;

  constructor(
    private readonly scope: RecordScope,
    private readonly selection: Selection,
  ) {
    const { table, sortBy, isById } = this;
    const { filters, ranges: { [sortBy]: range = {}, ...ranges } = {} } = selection;
    const rangeOfSort = conditionsOf(table, { ranges: { [sortBy]: range } });
    this.range = isById ? joinConditions([scope.indexed, rangeOfSort]) : rangeOfSort;
    this.filters = joinConditions([isById ? scope.others : scope, conditionsOf(table, { filters, ranges })]);
    this.isFiltered = this.filters.sql.length > 0;
  }

  /**
   * The segments after a position: greater ids with the same value, then greater values, then records without a value.
   * A row value comparison `(value, id) > (?, ?)` would join the first two, but SQLite 3.53 uses only its first column.
   */
  segmentsBeyond(after: Selection['after']): Conditions[] {
    const { name, cursorPlaceholder: placeholder } = this.column;
    const { isNullable } = this.column.metadata;
    const { range, beyond } = this;
    const segments: Conditions[] = [];
    const add = (sql: readonly string[], parameters: readonly unknown[]) => segments.push({ sql, parameters });
    if (after === undefined) {
      add(isNullable ? [`${name} IS NOT NULL`, ...range.sql] : range.sql, range.parameters);
    } else if (after.value !== null) {
      const parameters = [after.value, ...range.parameters];
      if (!this.isById) {
        add([`${name} = ${placeholder}`, ...range.sql, `id ${beyond} ?`], [...parameters, after.id]);
      }
      add([`${name} ${beyond} ${placeholder}`, ...range.sql], parameters);
    }
    // Records without a value are in no range.
    if (!isNullable || range.sql.length > 0) return segments;
    if (after?.value === null) add([`${name} IS NULL`, `id ${beyond} ?`], [after.id]);
    else add([`${name} IS NULL`], []);
    return segments;
  }

  all({ sql, parameters }: Conditions): SqlText {
    return { sql: `FROM ${this.table.sqlName}${where(sql)} ${this.orderBy}`, parameters };
  }

  matching(segment: Conditions): SqlText {
    return this.all(joinConditions([segment, this.filters]));
  }

  /** The matching rows among the first `scannedRows`. The inner LIMIT keeps SQLite on the index of the order. */
  scanned(segment: Conditions, scannedRows: number): SqlText {
    const { sql, parameters } = this.all(segment);
    return {
      sql: `FROM (SELECT * ${sql} ${LIMIT}) AS scanned${where(this.filters.sql)}`,
      parameters: [...parameters, scannedRows, ...this.filters.parameters],
    };
  }

  /** Selects the position of the row `offset` of `source`, as `value` and `id`. */
  position({ sql, parameters }: SqlText, offset: number): SqlText {
    return {
      sql: `SELECT ${this.column.cursorValue} AS value, id ${sql} LIMIT 1 OFFSET ?`,
      parameters: [...parameters, offset],
    };
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

const where = (sql: readonly string[]): string => (sql.length === 0 ? '' : ` WHERE ${sql.join(' AND ')}`);
