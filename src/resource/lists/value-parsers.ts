import type { ValueType } from './list-declaration.js';

/** JSON Schema `pattern` of a date-time (RFC 3339 section 5.6): upper case, at most milliseconds. */
export const DATE_TIME_PATTERN =
  '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?' +
  '(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$';
const DATE_TIME = new RegExp(DATE_TIME_PATTERN);

/** Years that both engines sort correctly. */
const FIRST_MOMENT = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z');

/** Parses a query parameter; `undefined` when it is not valid. */
export const PARSERS: Readonly<Record<ValueType, (text: string) => number | Date | undefined>> = {
  integer: parseInteger,
  number: parseDecimal,
  'date-time': parseDateTime,
};

function parseInteger(text: string): number | undefined {
  if (!/^(?:0|-?[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** A decimal number without exponent, leading zeros or -0. */
function parseDecimal(text: string): number | undefined {
  if (!/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) && !Object.is(number, -0) ? number : undefined;
}

function parseDateTime(text: string): Date | undefined {
  if (!DATE_TIME.test(text) || !isDate(text.slice(0, 10))) return undefined;
  const moment = Date.parse(text);
  return moment >= FIRST_MOMENT && moment <= LAST_MOMENT ? new Date(moment) : undefined;
}

/** Tells whether the day exists in its month: `Date.parse` turns 30 February into 2 March. */
function isDate(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}
