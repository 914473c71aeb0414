import type { SortPosition } from '../store/selection.js';
import type { ValueType } from './list-declaration.js';

/** Longer than any that `cursorOf` gives. */
const LONGEST = 300;

/** The characters of base64url (RFC 4648 section 5), as a `pattern` of JSON Schema. */
export const CURSOR_PATTERN = `^[A-Za-z0-9_-]{1,${LONGEST}}$`;
export const CURSOR = new RegExp(CURSOR_PATTERN);

/**
 * A place in a list that is sorted by a property, as clients hand it back: the property, the value and the id of the record last
 * seen, which need not exist any more. It holds nothing that the client has not seen.
 */
export function cursorOf(property: string, { value, id }: SortPosition): string {
  return Buffer.from(JSON.stringify([property, value, id])).toString('base64url');
}

/** The place that a cursor stands for; `undefined` for what `cursorOf` has not made for this property. */
export function positionOf(cursor: string, property: string, type: ValueType): SortPosition | undefined {
  if (!CURSOR.test(cursor)) return undefined;
  const parts = jsonOf(Buffer.from(cursor, 'base64url').toString());
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [, value, id] = parts as unknown[];
  if (!isId(id) || !(value === null || IS_VALUE[type](value))) return undefined;
  const position = { value: value as SortPosition['value'], id };
  // One spelling for each place, and no other property.
  return cursorOf(property, position) === cursor ? position : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

const IS_VALUE: Readonly<Record<ValueType, (value: unknown) => boolean>> = {
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  'date-time': isStoredMoment,
};

/** A moment in UTC as both engines write it (`exactDate`), PostgreSQL with microseconds; the engine would reject a 30th of February. */
function isStoredMoment(value: unknown): boolean {
  if (typeof value !== 'string' || !/^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}(?:\.[0-9]{1,6})?$/.test(value)) return false;
  const seconds = value.slice(0, 19).replace(' ', 'T');
  const moment = new Date(`${seconds}Z`);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(seconds) && !value.startsWith('0000');
}
