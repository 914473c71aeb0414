import { createHash } from 'node:crypto';
import type { Repository } from 'typeorm';
import { hydratedDecimal, storedDecimal } from '../../database/columns.js';
import { engineOf } from '../../database/engine.js';
import { type Id, idKindOf } from '../id-kinds.js';
import type { AnyResourceEntity } from '../resource-entity.js';
import { PARSERS } from '../value-parsers.js';
import { type RecordColumn, recordColumns, recordJson } from './record-columns.js';

export type Values = Readonly<Record<string, unknown>>;

/** The table of a resource: its columns, and its SQL statements, which are built once. */
export class ResourceTable {
  private readonly metadata = this.repository.metadata;
  readonly dataSource = this.repository.manager.dataSource;
  readonly engine = engineOf(this.dataSource);
  readonly name = this.metadata.tableName;
  readonly sqlName = this.dataSource.driver.escape(this.name);
  /** The columns that clients see; the first is the id. */
  readonly columns = recordColumns(this.dataSource, this.metadata);
  readonly valueColumns = this.columns.slice(1);
  readonly references = this.metadata.foreignKeys.map(
    ({ columns, referencedEntityMetadata: { tableName } }) => [columns[0]!.propertyName, tableName] as const,
  );
  readonly ids = idKindOf(this.metadata.primaryColumns[0]!.type);

  readonly selected = this.columns.map(({ property, name }) => `${name} AS "${property}"`).join(', ');
  /** The JSON of each record, also of one with a value that has no JSON: a list must not leave it out. */
  readonly recordJson = recordJson(this.columns, 'null');
  /** The digits of decimals, which on PostgreSQL are not in the SQL. */
  private readonly scales = this.columns.map(({ metadata }) => metadata.scale ?? '').join();
  /**
   * Hash of `recordJson` for ETags: when a new version gives records another property, old ETags become invalid. The
   * name is for resources with equal properties, one of which a handler may choose for a subject.
   */
  readonly layout = createHash('sha256')
    .update(this.name + this.recordJson + this.scales)
    .digest('hex')
    .slice(0, 8);
  /** Parameter: the resource. A sub-select, because SQLite 3.54 takes three times as long for a join with `storage`. */
  readonly select = `SELECT ${this.selected}, revision, (SELECT epoch FROM storage WHERE resource = ?) AS epoch FROM ${this.sqlName}`;
  /** Suffix of a SELECT that locks the record for the transaction. */
  readonly forUpdate = this.engine.dialect.forUpdate(this.sqlName);
  readonly delete = `DELETE FROM ${this.sqlName} WHERE id = ?`;

  constructor(private readonly repository: Repository<AnyResourceEntity>) {}

  /** The INSERT of `count` records. Parameters of each: the id if `withIds`, the values, the revision. */
  insert(count: number, withIds: boolean): string {
    const names = (withIds ? this.columns : this.valueColumns).map(({ name }) => name);
    const row = `(${placeholders(names)}, ?)`;
    const rows = Array.from({ length: count }, () => row).join(', ');
    return `INSERT INTO ${this.sqlName} (${names.join(', ')}, revision) VALUES ${rows} RETURNING id, revision`;
  }

  /** Sets only changed properties: another version may have stored more digits in the others than this one reads. */
  update(id: Id, changes: Values, revision: number): [statement: string, parameters: unknown[]] {
    const changed = this.valueColumns.filter(({ property }) => property in changes);
    const assigned = changed.map(({ name }) => `${name} = ?, `).join('');
    const parameters = changed.map((column) => this.parameterOf(column, changes[column.property]));
    return [`UPDATE ${this.sqlName} SET ${assigned}revision = ? WHERE id = ?`, [...parameters, revision, id]];
  }

  /** An absent property gets its default or `null`; an absent id stays absent if the database gives it. */
  newRecord(values: Values): Record<string, unknown> {
    const record: Record<string, unknown> = { id: values['id'] ?? this.ids.next?.() };
    for (const column of this.valueColumns) {
      const { [column.property]: value } = values;
      record[column.property] = value === undefined ? column.initial() : recordValue(column, value);
    }
    return record;
  }

  fromRow(row: Values): Values {
    const record: Record<string, unknown> = {};
    for (const { property, metadata } of this.columns) {
      record[property] = this.dataSource.driver.prepareHydratedValue(row[property], metadata) as unknown;
    }
    return record;
  }

  /** A copy of a record, with copies of its dates and JSON. */
  copyOf<T extends object>(record: T): T {
    const values = record as Values;
    return Object.fromEntries(
      this.columns.map((column) => [column.property, recordValue(column, values[column.property])]),
    ) as T;
  }

  parameterOf({ metadata }: RecordColumn, value: unknown): unknown {
    return this.dataSource.driver.preparePersistentValue(value, metadata) as unknown;
  }

  parametersOf(values: Values, withId: boolean): unknown[] {
    return (withId ? this.columns : this.valueColumns).map((column) =>
      this.parameterOf(column, values[column.property]),
    );
  }

  /** @throws {Error} for a property that clients do not see */
  column(property: string): RecordColumn {
    const column = this.columns.find((each) => each.property === property);
    if (column === undefined) throw new Error(`The records of ${this.name} have no property "${property}"`);
    return column;
  }

  /** Tells whether this column alone has an index. SQLite reads the rows of one value there by ascending integer id. */
  isIndexed(property: string): boolean {
    return this.column('id').kind === 'integer' && this.hasIndex(property, undefined);
  }

  /** @throws {Error} for a property that is not sortable; the message names the remedy */
  sortableColumn(property: string): RecordColumn {
    const column = this.column(property);
    if (property === 'id') return column;
    const unsortable = (reason: string) => new Error(`The records of ${this.name} cannot be sorted: ${reason}`);
    // Each database orders strings differently.
    if (!(column.kind in PARSERS)) {
      const rule = 'only numbers and dates have the same order on every engine';
      throw unsortable(`${property} is a ${column.kind}, and ${rule}`);
    }
    if (this.hasIndex(property, 'id')) return column;
    const columns = `['${property}', 'id']`;
    throw unsortable(
      `${property} has no index together with the id: add @Index(${columns}) to ${this.metadata.name}, and to a migration ` +
        `"indices: [${columns}]" of createResourceTable, or for a table that exists ` +
        `queryRunner.createIndex('${this.name}', new TableIndex({ columnNames: ${columns} }))`,
    );
  }

  /** Tells whether a complete index begins with these columns, or has only the first. */
  private hasIndex(property: string, next: 'id' | undefined): boolean {
    return this.metadata.indices.some(({ columns: [first, second], where }) => {
      return first?.propertyName === property && second?.propertyName === next && !where;
    });
  }
}

/** A copy of a value as the database returns it: a decimal has all its digits, and a nested DTO becomes plain JSON. */
export function recordValue({ kind, metadata }: RecordColumn, value: unknown): unknown {
  if (kind === 'date') return dayOf(value);
  if (value instanceof Date) return new Date(value);
  if (kind === 'decimal') return hydratedDecimal(storedDecimal(value, metadata), metadata);
  if (kind === 'json') return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
  if (typeof value !== 'string') return value;
  return metadata.type === 'uuid' ? value.toLowerCase() : value.toWellFormed();
}

/** The day of an instant in UTC, or of a text with a time. Values that the database rejects stay. */
function dayOf(value: unknown): unknown {
  const text = value instanceof Date ? (value.toJSON() ?? value) : value;
  return typeof text === 'string' ? text.replace(/^(\d{4}-\d\d-\d\d)[T ].*$/, '$1') : text;
}

export const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
