import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { UnstorableValueError } from '../columns.js';
import { rejectUnstorable } from './sqlite-connection.js';

/** The words of PostgreSQL (https://www.postgresql.org/docs/current/datatype-boolean.html). */
const BOOLEANS = [/^\s*(f|false|n|no|off|0)\s*$/i, /^\s*(t|true|y|yes|on|1)\s*$/i];

/** The integer types of both engines. */
const INTEGER = /^(big|small)?int(eger|\d)?$/;

/** Texts that PostgreSQL accepts for a value of these types. SQLite would store any other text, too. */
const TEXTS: readonly (readonly [types: RegExp, texts: RegExp, kind: string])[] = [
  [INTEGER, /^\s*[+-]?\d+\s*$/, 'whole number'],
  [/^(real|float|double)/, /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i, 'number'],
  [/^uuid$/, /^\{?([0-9a-f]{4}-?){7}[0-9a-f]{4}\}?$/i, 'uuid'],
];

/**
 * The value for TypeORM, which would store any text or number of a boolean as false, and an instant that is none.
 * @param sqliteType of the column on SQLite, where a uuid is a text
 * @throws {UnstorableValueError} for a value that PostgreSQL rejects: a boolean, an instant, a number or a text
 */
export function acceptedValue(
  value: unknown,
  { propertyPath, transformer, type: declared, length }: ColumnMetadata,
  sqliteType: string,
): unknown {
  // A transformer may make another value of it.
  if (value == null || transformer !== undefined) return value;
  const type = declared === 'uuid' ? declared : sqliteType;
  // A time of day has no year.
  if (value instanceof Date && type !== 'time') rejectUnstorable(value);
  const wrong = (kind: string): Error => {
    const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    return new UnstorableValueError(`${text} for ${propertyPath} is no ${kind}`, value, propertyPath);
  };
  if (typeof value === 'number' && !Number.isFinite(value)) throw wrong('number that SQLite can store');
  if (typeof value === 'number' && !Number.isInteger(value) && INTEGER.test(type)) throw wrong('whole number');
  if (typeof value === 'string') {
    const wanted = TEXTS.find(([types, texts]) => types.test(type) && !texts.test(value));
    if (wanted !== undefined) throw wrong(wanted[2]);
    if (length && [...value].length > Number(length)) throw wrong(`text of at most ${length} characters`);
  }
  if (type === 'boolean' && typeof value !== 'boolean') {
    const index = BOOLEANS.findIndex((words) => words.test(value as string));
    if (index < 0) throw wrong('boolean');
    return index === 1;
  }
  if (type === 'datetime' && !(value instanceof Date)) {
    if (typeof value !== 'string' || Number.isNaN(Date.parse(value))) throw wrong('instant: use a Date');
  }
  return value;
}
