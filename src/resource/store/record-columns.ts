import type { DataSource, EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { engineOf } from '../../database/engine.js';
import { columnJson, type ColumnKind, type JsonExpression } from './column-json.js';

/** A column whose values clients see. */
export interface RecordColumn {
  /** Its name in records. */
  readonly property: string;
  /** Its name in SQL, quoted. */
  readonly name: string;
  readonly json: JsonExpression;
  readonly kind: ColumnKind;
  readonly isNullable: boolean;
  /** Whether its numbers have 4 bytes on PostgreSQL; on SQLite they have 8. */
  readonly isSinglePrecision: boolean;
  /** A parameter that its values are compared with. */
  readonly placeholder: string;
  /** An expression that gives its value as a cursor holds it, and the parameter that turns it back into the value. */
  readonly cursorValue: string;
  readonly cursorPlaceholder: string;
  /** A value of a record as a parameter of a statement; absent where they are the same. */
  readonly toParameter?: (value: unknown) => unknown;
  /** A value of a row as a value of a record; absent where they are the same. */
  readonly fromRow?: (value: unknown) => unknown;
}

/** The types of columns, by the names that the drivers have for them. */
const KINDS: Readonly<Record<string, ColumnKind>> = {
  integer: 'integer',
  bigint: 'integer',
  smallint: 'integer',
  real: 'real',
  'double precision': 'real',
  varchar: 'string',
  text: 'string',
  'character varying': 'string',
  boolean: 'boolean',
  datetime: 'date',
  'timestamp with time zone': 'date',
};

/** Names that the statements use for themselves. */
const RESERVED = ['epoch', 'record'];

/**
 * The columns that clients see, from the decorators of the entity: the id first, then the others as they are declared.
 * @throws {Error} for an entity whose records a store cannot keep
 */
export function recordColumns(dataSource: DataSource, entity: EntityMetadata): RecordColumn[] {
  const [id, ...otherKeys] = entity.primaryColumns;
  if (id?.propertyName !== 'id' || otherKeys.length > 0) throw unsupported(entity, 'its primary key must be "id"');
  const others = entity.columns.filter(({ propertyName }) => propertyName !== 'id' && propertyName !== 'revision');
  return [id, ...others].map((column) => recordColumn(dataSource, entity, column));
}

function recordColumn(dataSource: DataSource, entity: EntityMetadata, column: ColumnMetadata): RecordColumn {
  const { driver } = dataSource;
  const { dialect } = engineOf(dataSource);
  const { propertyName: property, isNullable } = column;
  const kind = kindOf(dataSource, entity, column);
  const name = driver.escape(column.databaseName);
  const json = columnJson(dialect, { name, kind, isNullable });
  // A number that its column is too small for is compared with it all the same.
  const placeholder = kind === 'integer' ? 'CAST(? AS bigint)' : '?';
  const isSinglePrecision = driver.normalizeType(column) === 'real';
  const cursorValue = kind === 'date' ? dialect.exactDate(name) : name;
  const cursorPlaceholder = kind === 'date' ? dialect.dateOfExact('?') : placeholder;
  const cursor = { cursorValue, cursorPlaceholder };
  const described = { property, name, json, kind, isNullable, isSinglePrecision, placeholder, ...cursor };
  // Numbers and strings are the same on both sides; nothing is called for them.
  if (kind !== 'boolean' && kind !== 'date') return described;
  return {
    ...described,
    toParameter: (value) => driver.preparePersistentValue(value, column) as unknown,
    fromRow: (value) => driver.prepareHydratedValue(value, column) as unknown,
  };
}

function kindOf({ driver }: DataSource, entity: EntityMetadata, column: ColumnMetadata): ColumnKind {
  const { propertyName: property, propertyPath, transformer, type } = column;
  const kind = KINDS[driver.normalizeType(column)];
  if (kind === undefined) {
    const name = typeof type === 'function' ? type.name : type;
    throw unsupported(entity, `${property} is ${name}, and must be one of ${Object.keys(KINDS).join(', ')}`);
  }
  if (transformer !== undefined) throw unsupported(entity, `${property} has a transformer, which no engine can run`);
  if (propertyPath !== property) throw unsupported(entity, `${propertyPath} is embedded`);
  if (RESERVED.includes(property)) throw unsupported(entity, `${property} is a name that its statements use`);
  if (column.isCreateDate || column.isUpdateDate || column.isDeleteDate || column.isVersion) {
    throw unsupported(entity, `${property} gets its value from TypeORM: use @Column, and let the service set it`);
  }
  return kind;
}

function unsupported({ name }: EntityMetadata, reason: string): Error {
  return new Error(`${name} cannot be the entity of a resource: ${reason}`);
}
