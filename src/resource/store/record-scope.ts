import type { Sql } from '../../database/engine.js';
import type { Id } from '../id-kinds.js';
import type { AnyResourceEntity, StoredRecord } from '../resource-entity.js';
import type { UsageCounter } from '../usage/usage-counter.js';
import { type ResourceTable, type Row, storedRecord } from './resource-table.js';
import type { Conditions } from './selection.js';

/** Property values that records must have; `null` is a missing value. */
export type ScopeValues = Readonly<Record<string, unknown>>;

/** The records of a table that have certain values, in SQL; without values, all records. */
export class RecordScope implements Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
  /** The condition that an index serves in the order of ids, if there is one, and the others. */
  readonly indexed: Conditions;
  readonly others: Conditions;
  /** Names the scope, for the cache of lists; absent for all records. */
  readonly key?: string;
  private readonly select: string;
  private readonly selectForUpdate: string;

  /** @throws {Error} for a property that clients do not see, and for `undefined`, which would mean all records */
  constructor(
    readonly table: ResourceTable,
    private readonly values: readonly ScopeValues[] = [],
  ) {
    const wanted = values.flatMap(Object.entries).map(([property, value]) => {
      if (value === undefined) throw new Error(`where() needs a value for ${property}, or null for a missing one`);
      const column = table.column(property);
      return {
        isIndexed: value !== null && table.isIndexed(property),
        sql: `${column.name} ${value === null ? 'IS NULL' : `= ${column.placeholder}`}`,
        value: table.parameterOf(column, value),
      };
    });
    const conditionsOf = (part: typeof wanted): Conditions => ({
      sql: part.map(({ sql }) => sql),
      parameters: part.map(({ value }) => value).filter((value) => value !== null),
    });
    ({ sql: this.sql, parameters: this.parameters } = conditionsOf(wanted));
    const first = wanted.find(({ isIndexed }) => isIndexed);
    this.indexed = conditionsOf(first === undefined ? [] : [first]);
    this.others = conditionsOf(wanted.filter((one) => one !== first));
    if (wanted.length > 0) this.key = JSON.stringify(values);
    this.select = [table.find, ...this.sql].join(' AND ');
    this.selectForUpdate = this.select + table.forUpdate;
  }

  /** The records of this scope that also have these values. */
  and(values: ScopeValues): RecordScope {
    return new RecordScope(this.table, [...this.values, values]);
  }

  /** @param locks whether the record is locked until the transaction ends */
  async find<Entity extends AnyResourceEntity>(
    source: Sql,
    storage: UsageCounter,
    id: Id,
    locks = false,
  ): Promise<StoredRecord<Entity> | undefined> {
    const statement = locks ? this.selectForUpdate : this.select;
    const [row] = await source.query<Row[]>(statement, [storage.resource, id, ...this.parameters]);
    return row && storedRecord(this.table, storage, row);
  }
}
