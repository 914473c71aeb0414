import type { Sql } from '../../database/engine.js';
import type { Id } from '../id-kinds.js';
import type { AnyResourceEntity, PublicRecord, StoredRecord } from '../resource-entity.js';
import type { UsageCounter } from '../usage/usage-counter.js';
import { placeholders, type ResourceTable, type Values } from './resource-table.js';

/** A range of values that includes both ends. */
export interface Range {
  readonly from?: unknown;
  readonly to?: unknown;
}

export interface SortPosition {
  /** The value as the engine compares it: a date is a string. In a list by id, it is the id. */
  readonly value: string | number | null;
  readonly id: Id;
}

export interface RecordSelection {
  /** Allowed values by property, `null` for none; a record must match all of them. */
  readonly filters?: Readonly<Record<string, readonly unknown[] | undefined>>;
  /** Ranges by property; `null` is in no range. */
  readonly ranges?: Readonly<Record<string, Range>>;
}

export interface Selection extends RecordSelection {
  /** The sort property; absent: the id. */
  readonly sortBy?: string;
  /** Records without a value come last in both directions. */
  readonly order: 'ascending' | 'descending';
  /** The record before the page, which may be deleted; absent: the beginning. */
  readonly after?: SortPosition;
}

export type SqlText = ReturnType<typeof sqlText>;

export const sqlText = (sql: string, ...parameters: unknown[]) => ({ sql, parameters });

/** The conditions of a selection. @throws {Error} for a property that clients do not see */
export function conditionsOf(table: ResourceTable, { filters = {}, ranges = {} }: RecordSelection): SqlText[] {
  const conditions: SqlText[] = [];
  for (const [property, values] of Object.entries(filters)) {
    if (values === undefined) continue;
    const column = table.column(property);
    const given = values.filter((value) => value !== null).map((value) => table.parameterOf(column, value));
    // PostgreSQL accepts no empty list.
    const isOneOf = `${column.name} IN (${placeholders(given) || 'NULL'})`;
    const hasNull = given.length < values.length;
    conditions.push(sqlText(hasNull ? `(${isOneOf} OR ${column.name} IS NULL)` : isOneOf, ...given));
  }
  for (const [property, range] of Object.entries(ranges)) {
    const column = table.column(property);
    for (const [end, comparison] of ENDS) {
      const value = range[end];
      if (value === undefined) continue;
      // A decimal that is compared must not be rounded to the scale of the column.
      const parameter = column.kind === 'decimal' ? value : table.parameterOf(column, value);
      conditions.push(sqlText(`${column.name} ${comparison} ${column.placeholder}`, parameter));
    }
  }
  return conditions;
}

const ENDS = [
  ['from', '>='],
  ['to', '<='],
] as const;

/** The WHERE clause of rows that meet all conditions; empty without a condition. */
export function where(conditions: readonly SqlText[]): SqlText {
  const sql = conditions.map((condition) => condition.sql).join(' AND ');
  return sqlText(sql && ` WHERE ${sql}`, ...conditions.flatMap(({ parameters }) => parameters));
}

/** A record with its version; `epoch` is `null` when the resource has no `storage` row. */
type VersionedRow = Values & { readonly epoch: string | null; readonly revision: number };

/** The records of a table that have certain values; without values, all records. */
export class RecordScope {
  readonly conditions: readonly SqlText[];
  private readonly parameters: readonly unknown[];
  /** The condition that an index in the order of ids serves, if there is one, and all other conditions. */
  readonly indexed: readonly SqlText[];
  readonly others: readonly SqlText[];
  /** Names the scope, for the cache of lists; absent for all records. */
  readonly key?: string;
  /** Selects one record. Parameters: resource, id, then those of the scope. */
  readonly findById: string;

  /** @throws {Error} for a property that clients do not see, and for `undefined`, which would mean all records */
  constructor(
    readonly table: ResourceTable,
    private readonly values: readonly Values[] = [],
  ) {
    const wanted = values.flatMap(Object.entries);
    this.conditions = wanted.map(([property, value]) => {
      if (value === undefined) throw new Error(`where() needs a value for ${property}, or null for a missing one`);
      const column = table.column(property);
      if (value === null) return sqlText(`${column.name} IS NULL`);
      return sqlText(`${column.name} = ${column.placeholder}`, table.parameterOf(column, value));
    });
    this.parameters = where(this.conditions).parameters;
    const first = wanted.findIndex(([property, value]) => value !== null && table.isIndexed(property));
    this.indexed = this.conditions.filter((_, index) => index === first);
    this.others = this.conditions.filter((_, index) => index !== first);
    if (wanted.length > 0) this.key = JSON.stringify(values);
    this.findById = this.findStatement('id = ?');
  }

  and(values: Values): RecordScope {
    return new RecordScope(this.table, [...this.values, values]);
  }

  findStatement(condition: string): string {
    return this.table.select + where([sqlText(condition), ...this.conditions]).sql;
  }

  /** Runs a statement of `findStatement` with the parameter of its condition. */
  async find<Entity extends AnyResourceEntity>(
    source: Sql,
    storage: UsageCounter,
    statement: string,
    parameter: Id | Id[],
  ): Promise<StoredRecord<Entity>[]> {
    const rows = await source.query<VersionedRow[]>(statement, [storage.resource, parameter, ...this.parameters]);
    return rows.map((row) => ({
      record: this.table.fromRow(row) as unknown as PublicRecord<Entity>,
      version: storage.versionOf(row),
    }));
  }
}
