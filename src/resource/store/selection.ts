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
    const given = values.filter((value) => value !== null);
    // PostgreSQL accepts no empty list.
    const isOneOf = `${column.name} IN (${placeholders(given) || 'NULL'})`;
    sql.push(given.length < values.length ? `(${isOneOf} OR ${column.name} IS NULL)` : isOneOf);
    parameters.push(...given.map((value) => table.parameterOf(column, value)));
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

export const joinConditions = (parts: readonly Conditions[]): Conditions => ({
  sql: parts.flatMap(({ sql }) => sql),
  parameters: parts.flatMap(({ parameters }) => parameters),
});

const ENDS = [
  ['from', '>='],
  ['to', '<='],
] as const;

/** A record with its version; `epoch` is `null` when the resource has no `storage` row. */
type VersionedRow = Values & { readonly epoch: string | null; readonly revision: number };

/** The records of a table that have certain values, in SQL; without values, all records. */
export class RecordScope implements Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
  /** The conditions that an index in the order of ids serves, and all other conditions. */
  readonly indexed: Conditions;
  readonly others: Conditions;
  /** Names the scope, for the cache of lists; absent for all records. */
  readonly key?: string;
  /** Selects one record. Parameters: resource, id, then those of the scope. */
  readonly findById: string;

  /** @throws {Error} for a property that clients do not see, and for `undefined`, which would mean all records */
  constructor(
    readonly table: ResourceTable,
    private readonly values: readonly Values[] = [],
  ) {
    const wanted = values.flatMap(Object.entries).map(([property, value]) => {
      if (value === undefined) throw new Error(`where() needs a value for ${property}, or null for a missing one`);
      const column = table.column(property);
      if (value === null) return { isIndexed: false, sql: [`${column.name} IS NULL`], parameters: [] };
      return {
        isIndexed: table.isIndexed(property),
        sql: [`${column.name} = ${column.placeholder}`],
        parameters: [table.parameterOf(column, value)],
      };
    });
    ({ sql: this.sql, parameters: this.parameters } = joinConditions(wanted));
    const first = wanted.find(({ isIndexed }) => isIndexed);
    this.indexed = joinConditions(first === undefined ? [] : [first]);
    this.others = joinConditions(wanted.filter((one) => one !== first));
    if (wanted.length > 0) this.key = JSON.stringify(values);
    this.findById = this.findStatement('id = ?');
  }

  and(values: Values): RecordScope {
    return new RecordScope(this.table, [...this.values, values]);
  }

  findStatement(condition: string): string {
    return `${this.table.select} WHERE ${[condition, ...this.sql].join(' AND ')}`;
  }

  /**
   * @param statement from `findStatement`
   * @param parameter of its condition
   */
  async find<Entity extends AnyResourceEntity>(
    source: Sql,
    storage: UsageCounter,
    statement: string,
    parameter: Id | Id[],
  ): Promise<StoredRecord<Entity>[]> {
    const rows = await source.query<VersionedRow[]>(statement, [storage.resource, parameter, ...this.parameters]);
    return rows.map(({ epoch, revision, ...row }) => ({
      record: this.table.fromRow(row) as unknown as PublicRecord<Entity>,
      version: storage.versionOf({ epoch, revision }),
    }));
  }
}
