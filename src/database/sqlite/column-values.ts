import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { UnstorableValueError } from '../columns.js';
import { rejectUnstorable } from './sqlite-connection.js';

/** The words of PostgreSQL (https://www.postgresql.org/docs/current/datatype-boolean.html). */
const BOOLEANS = [/^\s*(f|false|n|no|off|0)\s*$/i, /^\s*(t|true|y|yes|on|1)\s*$/i];

/** The integer types of both engines. */
const INTEGER = /^(big|small)?int(eger|\d)?$/;

/**
 * The value for TypeORM, which would store any text or number of a boolean as false, and an instant that is none.
 * @param type of the column on SQLite
 * @throws {UnstorableValueError} for a boolean, an instant or a number that PostgreSQL rejects
 */
export function acceptedValue(value: unknown, { propertyPath, transformer }: ColumnMetadata, type: string): unknown {
  // A transformer may make another value of it.
  if (value == null || transformer !== undefined) return value;
  // A time of day has no year.
  if (value instanceof Date && type !== 'time') rejectUnstorable(value);
  const wrong = (kind: string): Error => {
    const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    return new UnstorableValueError(`${text} for ${propertyPath} is no ${kind}`, value, propertyPath);
  };
  if (typeof value === 'number' && !Number.isFinite(value)) throw wrong('number that SQLite can store');
  if (typeof value === 'number' && !Number.isInteger(value) && INTEGER.test(type)) throw wrong('whole number');
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
