import { applyDecorators, type Type } from '@nestjs/common';
import { ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsIn, ValidateBy, type ValidationArguments } from 'class-validator';
import { IsOptionalNotNull } from '../../http/validation/property-decorators.js';
import { Parsed, QueryArray, QueryInteger } from '../../http/validation/query-values.js';
import { ENUM_NAME } from '../../openapi/complete-document.js';
import { type IdKind, INTEGER_IDS } from '../id-kinds.js';
import { IsRecordId, IsWholeNumber, type NamedEnum } from '../properties.js';
import type { ResourceName } from '../resource.js';
import {
  DATE_SCHEMA,
  DATE_TIME_SCHEMA,
  DECIMAL_SCHEMA,
  MOST_DIGITS,
  PARSERS,
  type Sorts,
  type ValueType,
} from '../value-parsers.js';
import { CURSOR, positionOf } from './cursor.js';
import { ListPart, type ListQuery } from './list-declaration.js';

const MAX_LIMIT = 1000;

export const LIMIT_ERROR = limitError(MAX_LIMIT);

const ID_SORTS = ['id', '-id'];

/**
 * The base class of a list query, used like `PickType(...)`. Mapped types of it, such as `OmitType(...)`, work as for
 * any DTO. Each resource has a separate class, because the document names the type of its `sort` parameter.
 * @param options `sorts`: types of the properties to sort by, besides the id; each needs an index with the id
 */
export function ListQueryOf(name: ResourceName, { sorts = {} }: { readonly sorts?: Sorts } = {}): Type<ListQuery> {
  class ResourceListQuery implements ListQuery {
    @LimitParameter(MAX_LIMIT, {
      format: 'int32',
      example: 100,
      description: 'At most so many records; without it, all of them. `Link` leads to the next page.',
    })
    @ListPart({ list: name, sorts })
    limit?: number;

    @AfterParameter(name, sorts)
    @ListPart({ list: name, sorts })
    after?: number | string;

    @SortParameter(name, sorts)
    @ListPart({ list: name, sorts })
    sort?: string;
  }
  return ResourceListQuery;
}

/** The query parameter with the maximum number of records of a page. */
export function LimitParameter(maximum: number, schema: ApiPropertyOptions): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum: 1, maximum, ...schema }),
    IsOptionalNotNull(),
    QueryInteger(),
    IsWholeNumber(1, maximum, limitError(maximum)),
  );
}

function limitError(maximum: number): string {
  return `must be given once, as a whole number from 1 to ${maximum}`;
}

function SortParameter(name: ResourceName, sorts: Sorts): PropertyDecorator {
  const properties = ['id', ...Object.keys(sorts)];
  const values = properties.flatMap((property) => [property, `-${property}`]);
  // Names for client generators, which cannot derive them from values such as `-id`.
  const enumSchema = { default: 'id', 'x-enum-varnames': properties.flatMap(variableNames) };
  const description =
    properties.length === 1
      ? 'Oldest first (`id`) or newest first (`-id`).'
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

function AfterParameter({ ids }: ResourceName, sorts: Sorts): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional(Object.keys(sorts).length === 0 ? afterId(ids) : AFTER_ID_OR_CURSOR),
    IsOptionalNotNull(),
    QueryInteger(),
    ValidateBy({
      name: 'isAfter',
      validator: {
        validate: (value, argumentsOf) => isValidAfter(value, sortOf(argumentsOf!), sorts, ids),
        defaultMessage: (argumentsOf) =>
          ID_SORTS.includes(sortOf(argumentsOf!))
            ? 'must be given once, as the id of the last record seen, or 0'
            : 'must be given once, as in the link to the next page of a list with this sort, or 0',
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
  pattern: CURSOR.source,
  example: '0',
  description:
    'Only records that come after this one: by id, the id of the last record seen; by another property, `after` of the ' +
    'link to the next page, unchanged. `0` begins at the beginning.',
} as const;

const sortOf = ({ object }: ValidationArguments): string => (object as { sort?: string }).sort ?? 'id';

/** Tells whether a value of `after` fits the sort: an id, 0, or a cursor. An integer has been parsed already. */
function isValidAfter(value: unknown, sort: unknown, sorts: Sorts, ids: IdKind): boolean {
  if (value === 0) return true;
  if (typeof sort !== 'string' || ID_SORTS.includes(sort)) return ids.isId(value);
  if (typeof value !== 'string') return false;
  const property = sort.replace(/^-/, '');
  // The check on `sort` reports unknown sorts.
  if (!Object.hasOwn(sorts, property)) return CURSOR.test(value);
  return positionOf(value, property, sorts[property]!, ids) !== undefined;
}

/** A filter by an enum property. A repeated parameter means "or". */
export function EnumFilter(values: NamedEnum, description: string): PropertyDecorator {
  // `@nestjs/swagger` ignores the other options when an enum has a name.
  const items = { type: 'string', enum: [...values.enum], [ENUM_NAME]: values.enumName } as object;
  const message = `must be one of ${values.enum.join(', ')}`;
  return Filter(
    { maxItems: values.enum.length, items, description },
    undefined,
    IsIn(values.enum, { each: true, message }),
  );
}

/** Maximum number of values of one filter. Each number of values needs its own SQL statement. */
const MOST_VALUES = 20;

/** A filter by the id of another resource. A repeated parameter means "or". */
export function IdFilter(description: string, ids: IdKind = INTEGER_IDS): PropertyDecorator {
  const { example: _, ...items } = ids.schema;
  const message = `must be given at most ${MOST_VALUES} times`;
  const validators = [IsRecordId(ids, { each: true }), ArrayMaxSize(MOST_VALUES, { message })];
  return Filter({ maxItems: MOST_VALUES, items, description }, ids.parse, ...validators);
}

function Filter(
  schema: { readonly maxItems: number; readonly items: object; readonly description: string },
  parse?: (text: string) => unknown,
  ...validators: PropertyDecorator[]
): PropertyDecorator {
  return applyDecorators(
    ListPart({ isFilter: true }),
    ApiPropertyOptional({ type: 'array', uniqueItems: true, ...schema }),
    IsOptionalNotNull(),
    QueryArray(parse),
    ...validators,
    ArrayUnique({ message: 'names the same value twice' }),
  );
}

/** Smallest and largest value of a bound. Dates and instants have no limits. */
interface RangeLimits {
  readonly minimum?: number;
  readonly maximum?: number;
}

/**
 * A range parameter: `quantityFrom` selects `quantity >= value`, `quantityTo` selects `quantity <= value`. Records
 * without a value are in no range. A range whose end is before its start selects nothing.
 * @param type of the column: `integer`, `number` for `double precision`, `decimal` or `date`, whose bounds are strings,
 * or `date-time`, which makes the property a `Date`
 * @throws {Error} for a property whose name ends neither in `From` nor in `To`
 */
export function RangeFilter(type: ValueType, description: string, limits: RangeLimits = {}): PropertyDecorator {
  const { schema, text } = describeRange(type, limits);
  const { minimum = -Infinity, maximum = Infinity } = limits;
  const parse = (value: string) => {
    const parsed = PARSERS[type](value);
    const isWithin = type === 'date' || (Number(parsed) >= minimum && Number(parsed) <= maximum);
    return isWithin ? parsed : undefined;
  };
  // Decimals and dates stay strings, as do invalid values.
  const validate = (value: unknown): boolean =>
    typeof value === 'string' ? parse(value) !== undefined : typeof value === 'number' || value instanceof Date;
  const validator = { validate, defaultMessage: () => `must be given once, as ${text}` };
  return (target, name) => {
    const parameter = String(name);
    const [, property, end] = /^(.+)(From|To)$/.exec(parameter) ?? [];
    if (property === undefined) {
      throw new Error(`@RangeFilter is for properties such as quantityFrom and quantityTo, not for ${parameter}`);
    }
    applyDecorators(
      ListPart({ bound: { parameter, property, end: end === 'From' ? 'from' : 'to', type } }),
      ApiPropertyOptional({ ...schema, description }),
      IsOptionalNotNull(),
      Parsed(parse),
      ValidateBy({ name: 'isRangeBound', validator }),
    )(target, name);
  };
}

const BOUNDS: Readonly<Record<ValueType, readonly [schema: ApiPropertyOptions, text: string]>> = {
  integer: [{ type: 'integer', format: 'int64' }, 'a whole number'],
  number: [{ type: 'number', format: 'double' }, 'a number such as -12.5, without an exponent'],
  decimal: [DECIMAL_SCHEMA, `a decimal such as -12.50 of at most ${MOST_DIGITS} digits`],
  date: [DATE_SCHEMA, 'a date (RFC 3339), such as 2026-01-31'],
  'date-time': [
    DATE_TIME_SCHEMA,
    'a date and time with its offset and at most milliseconds (RFC 3339), ' +
      'such as 2026-01-31T12:00:00Z or 2026-01-31T14:00:00%2B02:00',
  ],
};

function describeRange(type: ValueType, limits: RangeLimits) {
  const [schema, text] = BOUNDS[type];
  if (type === 'integer') {
    const { minimum = -Number.MAX_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = limits;
    return { schema: { ...schema, minimum, maximum }, text: `${text} from ${minimum} to ${maximum}` };
  }
  const from = limits.minimum === undefined ? '' : `, from ${limits.minimum}`;
  const to = limits.maximum === undefined ? '' : `, up to ${limits.maximum}`;
  return { schema: type === 'number' ? { ...schema, ...limits } : schema, text: text + from + to };
}
