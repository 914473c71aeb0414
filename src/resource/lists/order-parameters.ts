import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, ValidateBy, type ValidationArguments } from 'class-validator';
import { IsOptionalNotNull } from '../../http/validation/property-decorators.js';
import { QueryInteger } from '../../http/validation/query-values.js';
import type { IdKind } from '../id-kinds.js';
import type { ResourceName } from '../resource.js';
import type { SortPosition } from '../store/selection.js';
import { PARSERS, type Sorts, type ValueType } from '../value-parsers.js';

const ID_SORTS = ['id', '-id'];

/** Longest cursor in characters; `cursorOf` makes shorter ones. */
const LONGEST = 300;

/** Base64url (RFC 4648 section 5). */
const CURSOR_PATTERN = `^[A-Za-z0-9_-]{1,${LONGEST}}$`;

const CURSOR = new RegExp(CURSOR_PATTERN);

const AFTER_ID_ERROR = 'must be given once, as the id of the last record seen, or 0';

export function SortParameter(name: ResourceName, sorts: Sorts): PropertyDecorator {
  const properties = ['id', ...Object.keys(sorts)];
  const values = properties.flatMap((property) => [property, `-${property}`]);
  // Names for client generators, which cannot derive them from values such as `-id`.
  const enumSchema = { default: 'id', 'x-enum-varnames': properties.flatMap(variableNames) };
  const byId = 'Oldest first (`id`) or newest first (`-id`).';
  const description =
    properties.length === 1
      ? byId
      : 'In ascending order of this property, or with `-` in descending order; equal ones by id in the same direction. Records ' +
        'without a value come last in both directions.';
  return applyDecorators(
    ApiPropertyOptional({ enum: values, enumName: `${name.typeName}Sort`, enumSchema, description }),
    IsOptionalNotNull(),
    IsIn(values, { message: `must be given once, as one of ${values.join(', ')}` }),
  );
}

function variableNames(property: string): string[] {
  const capitalized = property.charAt(0).toUpperCase() + property.slice(1);
  return [`${capitalized}Ascending`, `${capitalized}Descending`];
}

/** The `after` parameter: an id, or a cursor when the list is sorted by one of these properties. */
export function AfterParameter({ ids }: ResourceName, sorts: Sorts): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional(Object.keys(sorts).length === 0 ? afterId(ids) : AFTER_ID_OR_CURSOR),
    IsOptionalNotNull(),
    QueryInteger(),
    ValidateBy({
      name: 'isAfter',
      validator: {
        validate: (value, argumentsOf) => isPlace(value, sortOf(argumentsOf!), sorts, ids),
        defaultMessage: (argumentsOf) => {
          if (ID_SORTS.includes(sortOf(argumentsOf!))) return AFTER_ID_ERROR;
          return 'must be given once, as in the link to the next page of a list with this sort, or 0';
        },
      },
    }),
  );
}

function afterId({ schema }: IdKind) {
  const description = 'Only records that come after the one with this id; 0 begins at the beginning.';
  if (schema.type === 'integer') return { ...schema, minimum: 0, example: 0, description } as const;
  return { type: 'string', pattern: `^0$|${schema.pattern}`, example: '0', description } as const;
}

const AFTER_ID_OR_CURSOR = {
  type: 'string',
  pattern: CURSOR_PATTERN,
  example: '0',
  description:
    'Only records that come after this one: by id, the id of the last record seen; by another property, `after` of the ' +
    'link to the next page, unchanged. `0` begins at the beginning.',
} as const;

const sortOf = ({ object }: ValidationArguments): string => (object as { sort?: string }).sort ?? 'id';

/** Tells whether a value of `after` fits the sort: an id, 0, or a cursor. An integer has been parsed already. */
function isPlace(value: unknown, sort: unknown, sorts: Sorts, ids: IdKind): boolean {
  if (value === 0) return true;
  if (typeof sort !== 'string' || ID_SORTS.includes(sort)) return ids.isId(value);
  if (typeof value !== 'string') return false;
  const property = sort.replace(/^-/, '');
  // The check on `sort` reports unknown sorts.
  if (!Object.hasOwn(sorts, property)) return CURSOR.test(value);
  return positionOf(value, property, sorts[property]!, ids) !== undefined;
}

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
  if (!CURSOR.test(cursor)) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [, value, id] = parts as unknown[];
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
  date: (value) => typeof value === 'string' && PARSERS.date(value) !== undefined,
  'date-time': isStoredMoment,
};

/** An instant in UTC as `exactDate` of the engine writes it: PostgreSQL has microseconds. */
function isStoredMoment(value: unknown): boolean {
  if (typeof value !== 'string' || !/^.{10} .{8}(?:\.[0-9]{1,6})?$/.test(value)) return false;
  return PARSERS['date-time'](`${value.slice(0, 19).replace(' ', 'T')}Z`) !== undefined;
}
