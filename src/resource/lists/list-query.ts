import { applyDecorators, type Type } from '@nestjs/common';
import { ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsIn, IsInt, Max, Min, ValidateBy } from 'class-validator';
import { IsOptionalNotNull } from '../../http/validation/property-decorators.js';
import { Parsed, QueryArray, QueryInteger } from '../../http/validation/query-values.js';
import { ENUM_NAME } from '../../openapi/complete-document.js';
import { type IdKind, INTEGER_IDS } from '../id-kinds.js';
import { IsRecordId, type NamedEnum } from '../properties.js';
import type { ResourceName } from '../resource.js';
import { DATE_SCHEMA, DATE_TIME_SCHEMA, DECIMAL_SCHEMA, MOST_DIGITS, PARSERS } from '../value-parsers.js';
import type { Sorts, ValueType } from '../value-parsers.js';
import { ListPart, type ListQuery, type RangeBound } from './list-declaration.js';
import { AfterParameter, SortParameter } from './order-parameters.js';

const MAX_LIMIT = 1000;

export const LIMIT_ERROR = `must be given once, as a whole number from 1 to ${MAX_LIMIT}`;

const limitError = { message: LIMIT_ERROR };

/**
 * The base class of a list query, used like `PickType(...)`. Mapped types of it, such as `OmitType(...)`, work as for
 * any DTO. Each resource has a separate class, because the document names the type of its `sort` parameter.
 * @param options `sorts`: types of the properties to sort by, besides the id; each needs an index on its column and the id
 */
export function ListQueryOf(name: ResourceName, { sorts = {} }: { readonly sorts?: Sorts } = {}): Type<ListQuery> {
  class ResourceListQuery implements ListQuery {
    @ApiPropertyOptional({
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: MAX_LIMIT,
      example: 100,
      description: 'At most so many records; without it, all of them. `Link` leads to the next page.',
    })
    @IsOptionalNotNull()
    @QueryInteger()
    @IsInt(limitError)
    @Min(1, limitError)
    @Max(MAX_LIMIT, limitError)
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
  const validate = (value: unknown): boolean => isWithin(type, value, limits);
  return applyDecorators(
    (target: object, name: string | symbol) => ListPart({ bound: boundOf(String(name), type) })(target, name),
    ApiPropertyOptional({ ...schema, description }),
    IsOptionalNotNull(),
    Parsed(PARSERS[type]),
    ValidateBy({
      name: 'isRangeBound',
      validator: { validate, defaultMessage: () => `must be given once, as ${text}` },
    }),
  );
}

function boundOf(parameter: string, type: ValueType): RangeBound {
  const [, property, end] = /^(.+)(From|To)$/.exec(parameter) ?? [];
  if (property === undefined) {
    throw new Error(`@RangeFilter is for properties such as quantityFrom and quantityTo, not for ${parameter}`);
  }
  return { parameter, property, end: end === 'From' ? 'from' : 'to', type };
}

function isWithin(type: ValueType, value: unknown, { minimum = -Infinity, maximum = Infinity }: RangeLimits): boolean {
  if (value instanceof Date) return true;
  // A value that the parser did not convert is still a string.
  if (typeof value === 'string' && (type === 'date' || type === 'decimal')) {
    if (PARSERS[type](value) === undefined) return false;
    return type === 'date' || (Number(value) >= minimum && Number(value) <= maximum);
  }
  return typeof value === 'number' && value >= minimum && value <= maximum;
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
