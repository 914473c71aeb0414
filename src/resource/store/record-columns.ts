import type { DataSource, EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type Dialect, engineOf } from '../../database/engine.js';
import { MOST_DIGITS, type ValueType } from '../value-parsers.js';

export type RecordColumn = ReturnType<typeof recordColumn>;

type ColumnKind = ValueType | 'string' | 'uuid' | 'boolean' | 'json';

/** An SQL expression; if `isQuoted`, its value is JSON only inside double quotes. */
interface JsonExpression {
  readonly expression: string;
  readonly isQuoted: boolean;
}

/** Kinds of columns by their type names in the drivers; `real` is missing, because its values differ by engine. */
const KINDS: Readonly<Record<string, ColumnKind>> = {
  integer: 'integer',
  bigint: 'integer',
  smallint: 'integer',
  'double precision': 'number',
  decimal: 'decimal',
  numeric: 'decimal',
  uuid: 'uuid',
  varchar: 'string',
  text: 'string',
  'character varying': 'string',
  boolean: 'boolean',
  date: 'date',
  datetime: 'date-time',
  'timestamp with time zone': 'date-time',
  'simple-json': 'json',
};

/** Names that the statements use as aliases. */
const RESERVED = ['epoch', 'record'];

/**
 * Reads the columns that clients see from the entity: the id first, then the others in declared order.
 * @param row the name of a row, such as `NEW` in a trigger, as a prefix of the column names
 * @throws {Error} for an entity with an unsupported column or key
 */
export function recordColumns(dataSource: DataSource, entity: EntityMetadata, row?: string): RecordColumn[] {
  const [id, ...otherKeys] = entity.primaryColumns;
  if (id?.propertyName !== 'id' || otherKeys.length > 0) throw unsupported(entity, 'its primary key must be "id"');
  const [listener] = entity.listeners;
  if (listener !== undefined) {
    const { type, propertyName } = listener;
    throw unsupported(entity, `only repositories call ${propertyName} (${type}): let the service do its work`);
  }
  const others = entity.columns.filter(({ propertyName }) => propertyName !== 'id' && propertyName !== 'revision');
  return [id, ...others].map((column) => recordColumn(dataSource, entity, column, row));
}

function recordColumn(dataSource: DataSource, entity: EntityMetadata, metadata: ColumnMetadata, row?: string) {
  const { driver } = dataSource;
  const { dialect } = engineOf(dataSource);
  const { propertyName: property, isNullable } = metadata;
  const kind = columnKindOf(dataSource, entity, metadata);
  const name = `${row === undefined ? '' : `${row}.`}${driver.escape(metadata.databaseName)}`;
  const scale = kind === 'decimal' ? scaleOf(entity, metadata) : undefined;
  const json = columnJson(dialect, name, kind, scale);
  const day = `CAST(${name} AS text)`;
  const exact: Partial<Record<ColumnKind, string>> = { 'date-time': dialect.exactDate(name), date: day, decimal: name };
  // The cast allows a comparison with numbers outside the range of the column.
  const placeholder = kind === 'integer' ? 'CAST(? AS bigint)' : '?';
  return {
    property,
    name,
    kind,
    /** TypeORM's description, with which its driver converts values. */
    metadata,
    placeholder,
    json: isNullable ? nullableJson(name, json) : json,
    /** The value of a new record without the property. */
    initial: initialOf(entity, metadata, kind, scale),
    /**
     * SQL expression for the value in a cursor, and the parameter that converts it back. It is exact: on SQLite,
     * arithmetic makes decimals with more digits than their scale.
     */
    cursorValue: exact[kind] ?? (json.isQuoted ? json.expression : name),
    cursorPlaceholder: kind === 'date-time' ? dialect.dateOfExact('?') : placeholder,
  };
}

/** Types of defaults by kind of column; other kinds have no defaults. */
const DEFAULTS: Partial<Record<ColumnKind, string>> = {
  integer: 'number',
  number: 'number',
  decimal: 'number',
  string: 'string',
  boolean: 'boolean',
};

function initialOf(entity: EntityMetadata, column: ColumnMetadata, kind: ColumnKind, scale?: number): () => unknown {
  const { propertyName, isCreateDate, isUpdateDate, default: value } = column;
  if (isCreateDate || isUpdateDate) return () => new Date();
  if (value === undefined || value === null) return () => null;
  const right = DEFAULTS[kind];
  if (typeof value !== right) {
    const advice = right === undefined ? 'cannot be kept: let the service set the value' : `must be a ${right}`;
    throw unsupported(entity, `the default of ${propertyName} ${advice}`);
  }
  return () => (typeof value === 'number' && scale !== undefined ? value.toFixed(scale) : value);
}

/** The number of digits after the decimal point. Without it, the engines would return different digits. */
function scaleOf(entity: EntityMetadata, { propertyName, precision, scale }: ColumnMetadata): number {
  if (typeof precision === 'number' && precision <= MOST_DIGITS && typeof scale === 'number') return scale;
  const right = `{ precision: 10, scale: 2 }, and a precision of at most ${MOST_DIGITS}`;
  throw unsupported(entity, `${propertyName} is a decimal and needs ${right}`);
}

function columnKindOf({ driver }: DataSource, entity: EntityMetadata, column: ColumnMetadata): ColumnKind {
  const { propertyName: property, propertyPath, transformer, type } = column;
  // The drivers store simple-json, simple-array and simple-enum as text.
  const kind = KINDS[String(type).startsWith('simple-') ? String(type) : driver.normalizeType(column)];
  if (kind === undefined) {
    const name = typeof type === 'function' ? type.name : type;
    throw unsupported(entity, `${property} is ${name}, and must be one of ${Object.keys(KINDS).join(', ')}`);
  }
  const isMadeByTypeOrm =
    transformer !== undefined ||
    column.isVirtualProperty ||
    column.isDeleteDate ||
    column.isVersion ||
    (column.isGenerated && !column.isPrimary);
  if (isMadeByTypeOrm || propertyPath !== property || !column.isSelect) {
    const rule =
      'a plain @Column that is selected, is not generated or embedded, and has no transformer; a relation needs @References';
    throw unsupported(entity, `${propertyPath} must be ${rule}`);
  }
  if (RESERVED.includes(property)) throw unsupported(entity, `${property} is a name that the SQL uses`);
  return kind;
}

function unsupported({ name }: EntityMetadata, reason: string): Error {
  return new Error(`${name} cannot be the entity of a resource: ${reason}`);
}

function nullableJson(name: string, { expression, isQuoted }: JsonExpression): JsonExpression {
  const value = isQuoted ? `'"' || ${expression} || '"'` : `'' || ${expression}`;
  return { expression: `CASE WHEN ${name} IS NULL THEN 'null' ELSE ${value} END`, isQuoted: false };
}

/** The JSON of a column without NULL. It equals the output of `JSON.stringify`. */
function columnJson(dialect: Dialect, name: string, kind: ColumnKind, scale = 0): JsonExpression {
  const quoted: Partial<Record<ColumnKind, string>> = {
    date: dialect.day(name),
    uuid: `CAST(${name} AS text)`,
    decimal: dialect.decimal(name, scale),
    'date-time': dialect.isoDate(name),
  };
  const unquoted: Partial<Record<ColumnKind, string>> = {
    number: dialect.jsonReal(name),
    string: dialect.json(name),
    boolean: `CASE WHEN ${name} THEN 'true' ELSE 'false' END`,
  };
  return { expression: quoted[kind] ?? unquoted[kind] ?? name, isQuoted: kind in quoted };
}

/**
 * The SQL expression of a record as a JSON object after a comma. A column that is required here may be NULL for the
 * previous or the next version of the service. Only these records need the slower expression, a CASE for each column.
 * @param unreadable JSON of a value without JSON, such as the date `infinity`; by default the record is NULL then
 */
export function recordJson(columns: readonly RecordColumn[], unreadable?: 'null'): string {
  const json = elementJson(columns.map((column) => [column.property, column.json]));
  const withNulls = columns.map(({ property, name, json }) => {
    const { expression } = nullableJson(name, json);
    const total = unreadable === undefined ? expression : `coalesce(${expression}, '${unreadable}')`;
    return [property, { expression: total, isQuoted: false }] as const;
  });
  return `coalesce(${json}, ${elementJson(withNulls)})`;
}

/** The SQL expression of properties as a JSON object after a comma; NULL if one of them is NULL. */
function elementJson(properties: readonly (readonly [name: string, json: JsonExpression])[]): string {
  const parts: string[] = [];
  let literal = ',{';
  for (const [name, { expression, isQuoted }] of properties) {
    const quote = isQuoted ? '"' : '';
    parts.push(`'${literal}${JSON.stringify(name)}:${quote}'`, expression);
    literal = `${quote},`;
  }
  return [...parts, `'${literal.slice(0, -1)}}'`].join(' || ');
}
