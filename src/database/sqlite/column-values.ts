import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { NUMBER_NOTATION, UnstorableValueError } from '../columns.js';
import { rejectUnstorable } from './sqlite-connection.js';

/** Makes the value to store; `undefined` for a value that PostgreSQL rejects. */
type Convert = (value: unknown) => unknown;

const matching =
  (pattern: RegExp): Convert =>
  (value) =>
    pattern.test(String(value).trim()) ? value : undefined;

const wholeNumber =
  (bits: number): Convert =>
  (value) => {
    const digits = String(value).trim();
    if (!/^[+-]?\d+$/.test(digits)) return undefined;
    return BigInt.asIntN(bits, BigInt(digits)) === BigInt(digits) ? value : undefined;
  };

/** The words of PostgreSQL (https://www.postgresql.org/docs/current/datatype-boolean.html). */
const BOOLEANS = [/^\s*(f|false|n|no|off|0)\s*$/i, /^\s*(t|true|y|yes|on|1)\s*$/i];

function booleanOf(value: unknown): boolean | undefined {
  const index = BOOLEANS.findIndex((words) => words.test(String(value)));
  return index < 0 ? undefined : index === 1;
}

/** The day in a text, which may have a time behind it. */
function dayOf(value: unknown): unknown {
  if (value instanceof Date) return value;
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)([T ].*)?$/.exec(String(value)) ?? [];
  // An impossible day, such as 31 February, becomes `null` or another day.
  return new Date(`${day}T00:00Z`).toJSON()?.startsWith(day) ? day : undefined;
}

const TIME = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/;

function timeOf(value: unknown): unknown {
  if (value instanceof Date) return value;
  return TIME.test(String(value)) ? String(value).padEnd(8, ':00') : undefined;
}

function instantOf(value: unknown): unknown {
  return value instanceof Date || (typeof value === 'string' && !Number.isNaN(Date.parse(value))) ? value : undefined;
}

type Conversion = readonly [kind: string, convert: Convert];

const SHORT: Conversion = ['whole number of 16 bits', wholeNumber(16)];
const LONG: Conversion = ['whole number of 64 bits', wholeNumber(64)];
const NUMBER: Conversion = ['number', matching(NUMBER_NOTATION)];

/** Conversions by the type of the column: SQLite would store any value in any column. */
const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  ...{ smallint: SHORT, int2: SHORT, integer: LONG, int: LONG, bigint: LONG, int8: LONG },
  ...{ real: NUMBER, float: NUMBER, double: NUMBER, 'double precision': NUMBER },
  boolean: ['boolean', booleanOf],
  uuid: ['uuid', matching(/^\{?([0-9a-f]{4}-?){7}[0-9a-f]{4}\}?$/i)],
  date: ['day such as 2026-01-31', dayOf],
  time: ['time such as 06:30', timeOf],
  datetime: ['instant: use a Date', instantOf],
};

/**
 * The value for TypeORM, as PostgreSQL stores it.
 * @param sqliteType of the column on SQLite, where a uuid is a text
 * @throws {UnstorableValueError} for a value that PostgreSQL rejects
 */
export function acceptedValue(
  value: unknown,
  { propertyPath, transformer, type, length }: ColumnMetadata,
  sqliteType: string,
): unknown {
  // A transformer may make another value of it.
  if (value == null || transformer !== undefined) return value;
  // A time of day has no year.
  if (value instanceof Date && type !== 'time') rejectUnstorable(value);
  const wrong = (kind: string): Error => {
    const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    return new UnstorableValueError(`${text} for ${propertyPath} is no ${kind}`, value, propertyPath);
  };
  if (typeof value === 'number' && !Number.isFinite(value)) throw wrong('number that SQLite can store');
  const [kind = '', convert] = CONVERSIONS[type === 'uuid' ? type : sqliteType] ?? [];
  const stored = convert === undefined ? value : convert(value);
  if (stored === undefined) throw wrong(kind);
  if (typeof stored !== 'string') return stored;
  if (stored.includes('\0') && type !== 'simple-json') throw wrong('text without NUL');
  if (length && [...stored].length > Number(length)) throw wrong(`text of at most ${length} characters`);
  return stored;
}
