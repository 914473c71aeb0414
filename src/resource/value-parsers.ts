/** Type of a property to sort by or to bound, as in OpenAPI. */
export type ValueType = 'integer' | 'number' | 'decimal' | 'date' | 'date-time';

export type Sorts = Readonly<Record<string, ValueType>>;

/** A day from 0001-01-01 on. The pattern accepts 29 February of every year. */
const DAY =
  '(?!0000)[0-9]{4}-' +
  '((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))';

/** JSON Schema of a date-time (RFC 3339 section 5.6): upper case, at most milliseconds. */
export const DATE_TIME_SCHEMA = {
  type: 'string',
  format: 'date-time',
  pattern: `^${DAY}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`,
  example: '2026-01-31T12:00:00.000Z',
} as const;

const DATE_TIME = new RegExp(DATE_TIME_SCHEMA.pattern);

/** JSON Schema of a date (RFC 3339 section 5.6). */
export const DATE_SCHEMA = { type: 'string', format: 'date', pattern: `^${DAY}$`, example: '2026-01-31' } as const;

const DATE = new RegExp(DATE_SCHEMA.pattern);

/** Maximum number of digits of a decimal that both engines keep. */
export const MOST_DIGITS = 15;

const DECIMAL = new RegExp(`^(?!-0(\\.0*)?$)(?!([-.]*[0-9]){${MOST_DIGITS + 1}})-?(0|[1-9][0-9]*)(\\.[0-9]+)?$`);

/** JSON Schema of a decimal, without exponent, leading zeros or -0. */
export const DECIMAL_SCHEMA = { type: 'string', format: 'decimal', pattern: DECIMAL.source, example: '12.50' } as const;

/** The instants that both engines sort correctly. */
const FIRST_MOMENT = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z');

/** Parses a value from its text, in a body or a query; `undefined` if it is invalid. */
export const PARSERS: Readonly<Record<ValueType, (text: string) => number | string | Date | undefined>> = {
  integer: (text) => numberOf(text, /^(?:0|-?[1-9][0-9]{0,15})$/, Number.isSafeInteger),
  /** A number without exponent, leading zeros or -0. */
  number: (text) => numberOf(text, /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/, Number.isFinite),
  decimal: (text) => (DECIMAL.test(text) ? text : undefined),
  date: (text) => (DATE.test(text) && isDate(text) ? text : undefined),
  'date-time': (text) => {
    if (!DATE_TIME.test(text) || !isDate(text.slice(0, 10))) return undefined;
    const moment = Date.parse(text);
    return moment >= FIRST_MOMENT && moment <= LAST_MOMENT ? new Date(moment) : undefined;
  },
};

function numberOf(text: string, pattern: RegExp, isAllowed: (number: number) => boolean): number | undefined {
  const number = pattern.test(text) ? Number(text) : NaN;
  return isAllowed(number) && !Object.is(number, -0) ? number : undefined;
}

/** Tells whether the day exists in its month: `Date.parse` turns 30 February into 2 March. */
function isDate(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}
