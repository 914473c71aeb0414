import { placeholders, type ResourceTable } from './resource-table.js';

/** Which records of a resource, and in which order. */
export interface Selection {
  /** By property: only records that have one of these values, in every property that is named. */
  readonly filters?: Readonly<Record<string, readonly unknown[] | undefined>>;
  /** By id. */
  readonly order: 'ascending' | 'descending';
  /** Only records beyond this id, in the direction of the order; 0 selects all. */
  readonly after?: number;
}

/** What the filters of a selection are in SQL. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
}

/** @throws {Error} for a property that clients do not see */
export function conditionsOf(table: ResourceTable, { filters = {} }: Pick<Selection, 'filters'>): Conditions {
  const sql: string[] = [];
  const parameters: unknown[] = [];
  for (const [property, values] of Object.entries(filters)) {
    if (values === undefined) continue;
    const { name, toParameter } = table.column(property);
    sql.push(`${name} IN (${placeholders(values)})`);
    parameters.push(...(toParameter === undefined ? values : values.map(toParameter)));
  }
  return { sql, parameters };
}
