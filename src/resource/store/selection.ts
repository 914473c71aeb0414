import type { Id } from '../id-kinds.js';
import { placeholders, type ResourceTable } from './resource-table.js';

/** A range of values that includes both ends. */
export interface Range {
  readonly from?: unknown;
  readonly to?: unknown;
}

/** The position of a record in a sorted list. */
export interface SortPosition {
  /** The value as the engine compares it: a date is a string. In a list by id, it is the id. */
  readonly value: string | number | null;
  readonly id: Id;
}

/** Filters of records. */
export interface RecordSelection {
  /** Allowed values by property; a record must match all of them. */
  readonly filters?: Readonly<Record<string, readonly unknown[] | undefined>>;
  /** Ranges by property; `null` is in no range. */
  readonly ranges?: Readonly<Record<string, Range>>;
}

/** Filters and order of a list. */
export interface Selection extends RecordSelection {
  /** Sort property, then the id; absent: the id. */
  readonly sortBy?: string;
  /** Records without a value come last in both directions. */
  readonly order: 'ascending' | 'descending';
  /**
   * Start of the page (exclusive); absent: the beginning. The record may be deleted.
   */
  readonly after?: SortPosition;
}

/** Filters and ranges of a selection as SQL. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
}

/** @throws {Error} for a property that clients do not see */
export function conditionsOf(table: ResourceTable, { filters = {}, ranges = {} }: RecordSelection): Conditions {
  const sql: string[] = [];
  const parameters: unknown[] = [];
  for (const [property, values] of Object.entries(filters)) {
    if (values === undefined) continue;
    const column = table.column(property);
    sql.push(`${column.name} IN (${placeholders(values)})`);
    parameters.push(...values.map((value) => table.parameterOf(column, value)));
  }
  for (const [property, range] of Object.entries(ranges)) {
    const column = table.column(property);
    for (const [end, comparison] of ENDS) {
      const value = range[end];
      if (value === undefined) continue;
      sql.push(`${column.name} ${comparison} ${column.placeholder}`);
      // A decimal that is compared must not be rounded to the scale of the column.
      parameters.push(column.kind === 'decimal' ? value : table.parameterOf(column, value));
    }
  }
  return { sql, parameters };
}

const ENDS = [
  ['from', '>='],
  ['to', '<='],
] as const;
