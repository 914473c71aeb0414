import type { IdKind } from '../id-kinds.js';
import type { SortPosition } from '../store/selection.js';
import { PARSERS, type ValueType } from '../value-parsers.js';

/** Longest cursor in characters; `cursorOf` makes shorter ones. */
const LONGEST = 300;

/** Base64url (RFC 4648 section 5). */
export const CURSOR = new RegExp(`^[A-Za-z0-9_-]{1,${LONGEST}}$`);

/** A cursor: the sort property, and the value and id of the last record, all of which the client has received. */
export function cursorOf(property: string, { value, id }: SortPosition): string {
  return Buffer.from(JSON.stringify([property, value, id])).toString('base64url');
}

/** Decodes a cursor; `undefined` for any other text, and for a cursor of another property. */
export function positionOf(
  cursor: string,
  property: string,
  type: ValueType,
  { isId }: IdKind,
): SortPosition | undefined {
  let value: unknown;
  let id: unknown;
  try {
    [, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
  } catch {
    return undefined;
  }
  if (!isId(id) || !(value === null || IS_VALUE[type](value))) return undefined;
  const position = { value: value as SortPosition['value'], id };
  // Rejects other encodings of the same cursor, and cursors of another property.
  return cursorOf(property, position) === cursor ? position : undefined;
}

const IS_VALUE: Readonly<Record<ValueType, (value: unknown) => boolean>> = {
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  // SQLite stores a number.
  decimal: (value) => (typeof value === 'string' ? PARSERS.decimal(value) !== undefined : Number.isFinite(value)),
  date: (value) => isInfinite(value) || (typeof value === 'string' && PARSERS.date(value) !== undefined),
  'date-time': isStoredMoment,
};

/** The first and last day or instant of PostgreSQL, which only other programs store. */
const isInfinite = (value: unknown): boolean => value === 'infinity' || value === '-infinity';

/** An instant in UTC as `exactDate` of the engine writes it: PostgreSQL has microseconds. */
function isStoredMoment(value: unknown): boolean {
  if (isInfinite(value)) return true;
  if (typeof value !== 'string' || !/^.{10} .{8}(?:\.[0-9]{1,6})?$/.test(value)) return false;
  return PARSERS['date-time'](`${value.slice(0, 19).replace(' ', 'T')}Z`) !== undefined;
}
