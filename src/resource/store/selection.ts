import { placeholders, type ResourceTable } from './resource-table.js';

/** Values from one to another, both inclusive. */
export interface Range {
  readonly from?: unknown;
  readonly to?: unknown;
}

/** A record's place in an order by a property. */
export interface SortPosition {
  /** As the engine compares it: a date is the string that the engine makes of it. */
  readonly value: string | number | null;
  readonly id: number;
}

/** Which records of a resource, and in which order. */
export interface Selection {
  /** By property: only records that have one of these values, in every property that is named. */
  readonly filters?: Readonly<Record<string, readonly unknown[] | undefined>>;
  /** By property: only records whose value is within the range; `null` is in none. */
  readonly ranges?: Readonly<Record<string, Range>>;
  /** The property that the order is by; ties are in the order of their ids. By id alone where it is absent. */
  readonly sortBy?: string;
  /** Records without a value come last in both directions. */
  readonly order: 'ascending' | 'descending';
  /**
   * Only records beyond this place, in the direction of the order: an id, of which 0 selects all, or a place in the order by
   * `sortBy`. The record itself need not exist.
   */
  readonly after?: number | SortPosition;
}

/** What the filters and ranges of a selection are in SQL. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
}

/** @throws {Error} for a property that clients do not see */
export function conditionsOf(
  table: ResourceTable,
  { filters = {}, ranges }: Pick<Selection, 'filters' | 'ranges'>,
): Conditions {
  const sql: string[] = [];
  const parameters: unknown[] = [];
  for (const [property, values] of Object.entries(filters)) {
    if (values === undefined) continue;
    const { name, toParameter } = table.column(property);
    sql.push(`${name} IN (${placeholders(values)})`);
    parameters.push(...(toParameter === undefined ? values : values.map(toParameter)));
  }
  if (ranges === undefined) return { sql, parameters };
  for (const [property, range] of Object.entries(ranges)) {
    const { name, placeholder, toParameter } = table.column(property);
    for (const [end, comparison] of ENDS) {
      if (range[end] === undefined) continue;
      sql.push(`${name} ${comparison} ${placeholder}`);
      parameters.push(toParameter === undefined ? range[end] : toParameter(range[end]));
    }
  }
  return { sql, parameters };
}

const ENDS = [
  ['from', '>='],
  ['to', '<='],
] as const;
