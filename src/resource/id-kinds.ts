import { v7 } from 'uuid';
import { parseNatural } from '../http/validation/query-values.js';

export type Id = number | string;

/** A kind of ids: everything that differs between integers and UUIDs. */
export interface IdKind<I extends Id = Id> {
  readonly columnType: 'integer' | 'uuid';
  readonly schema: {
    readonly type: 'integer' | 'string';
    readonly format: string;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly pattern?: string;
    readonly example: I;
  };
  readonly message: string;
  /** An id that no record has, less than all others. */
  readonly lowest: I;
  /** Tells whether a value is an id. Nothing is normalised. */
  readonly isId: (value: unknown) => value is I;
  readonly parse: (text: string) => I | undefined;
  /** Makes the next id; absent if the database gives the ids from a sequence. */
  readonly next?: () => I;
}

/** Integers from 1 on, which the database gives. */
export const INTEGER_IDS: IdKind<number> = {
  columnType: 'integer',
  schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, example: 1 },
  message: `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`,
  lowest: 0,
  isId: (value): value is number => Number.isSafeInteger(value) && (value as number) > 0,
  parse: (text) => parseNatural(text) || undefined,
};

/** The text of any UUID except the nil UUID. PostgreSQL and SQLite sort lower-case texts alike. */
const UUID_PATTERN = '^(?!00000000-0000-0000-0000-000000000000)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

const UUID = new RegExp(UUID_PATTERN);

/** UUIDs in lower case (RFC 9562). The service makes version 7, each greater than earlier ones of this process. */
export const UUID_IDS: IdKind<string> = {
  columnType: 'uuid',
  schema: { type: 'string', format: 'uuid', pattern: UUID_PATTERN, example: '01999999-0000-7000-8000-000000000001' },
  message: 'must be a UUID with hyphens, in lower case (RFC 9562)',
  lowest: '00000000-0000-0000-0000-000000000000',
  isId: (value): value is string => typeof value === 'string' && UUID.test(value),
  parse: (text) => (UUID.test(text) ? text : undefined),
  next: () => v7(),
};

export const idKindOf = (columnType: unknown): IdKind => (columnType === 'uuid' ? UUID_IDS : INTEGER_IDS);

/** The CHECK of a UUID. Do not change its text: the name of the constraint follows from it. */
export const IS_UUID =
  `CAST("id" AS text) LIKE '________-____-____-____-____________' AND CAST("id" AS text) <> '${UUID_IDS.lowest}' ` +
  `AND length(replace(CAST("id" AS text) , '-', '')) = 32 ` +
  `AND rtrim(replace(CAST("id" AS text) , '-', '') , '0123456789abcdef') = ''`;
