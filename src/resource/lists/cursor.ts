import type { SortPosition } from '../store/selection.js';
import { PARSERS } from '../value-parsers.js';
import type { ValueType } from './list-declaration.js';

/** Longest cursor in characters; `cursorOf` makes shorter ones. */
const LONGEST = 300;

/** JSON Schema `pattern` for base64url (RFC 4648 section 5). */
export const CURSOR_PATTERN = `^[A-Za-z0-9_-]{1,${LONGEST}}$`;
export const CURSOR = new RegExp(CURSOR_PATTERN);

/**
 * A cursor of a sorted list: the sort property, and the value and id of the last record of the page. That record may be deleted
 * meanwhile. The cursor contains only what the client has already received.
 */
export function cursorOf(property: string, { value, id }: SortPosition): string {
  return Buffer.from(JSON.stringify([property, value, id])).toString('base64url');
}

/** Decodes a cursor; `undefined` when `cursorOf` did not make it for this property. */
export function positionOf(cursor: string, property: string, type: ValueType): SortPosition | undefined {
  if (!CURSOR.test(cursor)) return undefined;
  const parts = jsonOf(Buffer.from(cursor, 'base64url').toString());
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [, value, id] = parts as unknown[];
  if (!isId(id) || !(value === null || IS_VALUE[type](value))) return undefined;
  const position = { value: value as SortPosition['value'], id };
  // Rejects other encodings of the same cursor, and cursors of another property.
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
  decimal: isParsed('decimal'),
  date: isParsed('date'),
  'date-time': isStoredMoment,
};

function isParsed(type: ValueType): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && PARSERS[type](value) !== undefined;
}

/** An instant in UTC as `exactDate` of the engine writes it: PostgreSQL has microseconds. The engine rejects invalid days. */
function isStoredMoment(value: unknown): boolean {
  if (typeof value !== 'string' || !/^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}(?:\.[0-9]{1,6})?$/.test(value)) return false;
  const seconds = value.slice(0, 19).replace(' ', 'T');
  const moment = new Date(`${seconds}Z`);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(seconds) && !value.startsWith('0000');
}
