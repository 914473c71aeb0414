import { applyDecorators, type Type } from '@nestjs/common';
import { ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsIn, IsInt, Max, Min } from 'class-validator';
import { IsOptionalNotNull } from '../../http/validation/is-optional-not-null.decorator.js';
import { QueryArray, QueryInteger, QueryIntegers } from '../../http/validation/query-values.js';
import type { NamedEnum } from '../properties.js';
import { IsRecordId } from '../record-id.js';
import type { ResourceName } from '../resource-name.js';
import type { Range, Selection, SortPosition } from '../store/selection.js';
import { cursorOf, positionOf } from './cursor.js';
import { declarationOf, Filter, type ListDeclaration, ListParameter, type Sorts } from './list-declaration.js';
import { AfterParameter, SortParameter } from './order-parameters.js';
import { MAX_LIMIT } from './page.js';

/** The parameters of every list. */
export interface ListQuery {
  limit?: number;
  /** An id, or a cursor when the list is sorted by a property. */
  after?: number | string;
  sort?: string;
}

export interface ListOptions {
  /**
   * Types of the properties to sort by, besides the id. Each needs an index on its column and the id; without one the start
   * fails, and the message names the index.
   */
  readonly sorts?: Sorts;
}

export const LIMIT_ERROR = `must be given once, as a whole number from 1 to ${MAX_LIMIT}`;
const limitError = { message: LIMIT_ERROR };

/**
 * The base class of a list query, used like `PickType(...)`. Mapped types of it, such as `OmitType(...)`, work as for any DTO. Each resource has its own, because the document names the type of
 * its `sort` parameter.
 */
export function ListQueryOf(name: ResourceName, { sorts = {} }: ListOptions = {}): Type<ListQuery> {
  class ResourceListQuery implements ListQuery {
    @ApiPropertyOptional({
      type: 'integer',
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
    @ListParameter(name, sorts)
    limit?: number;

    @AfterParameter(sorts)
    @ListParameter(name, sorts)
    after?: number | string;

    @SortParameter(name, sorts)
    @ListParameter(name, sorts)
    sort?: string;
  }
  return ResourceListQuery;
}

/** `Filter` for an enum property. A repeated parameter means "or". */
export function EnumFilter(values: NamedEnum, description: string): PropertyDecorator {
  return applyDecorators(
    Filter(),
    // `@nestjs/swagger` ignores the other options when an enum has a name.
    ApiPropertyOptional({ ...OR, items: { $ref: getSchemaPath(values.enumName) }, description }),
    IsOptionalNotNull(),
    QueryArray(),
    IsIn(values.enum, { each: true, message: `must be one of ${values.enum.join(', ')}` }),
    ArrayUnique(uniqueError),
  );
}

/** Most values of one filter: each count is a different SQL statement. */
const MOST_VALUES = 20;

/** `Filter` for an id, such as a reference. A repeated parameter means "or". */
export function IdFilter(description: string): PropertyDecorator {
  const items = { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;
  return applyDecorators(
    Filter(),
    ApiPropertyOptional({ ...OR, maxItems: MOST_VALUES, items, description }),
    IsOptionalNotNull(),
    QueryIntegers(),
    IsRecordId({ each: true }),
    ArrayMaxSize(MOST_VALUES, { message: `must be given at most ${MOST_VALUES} times` }),
    ArrayUnique(uniqueError),
  );
}

const OR = { type: 'array', uniqueItems: true } as const;
const uniqueError = { message: 'names the same value twice' };

/** Turns the query of a list into a selection. */
export function selectionOf(query: ListQuery): Selection {
  const declaration = declarationOf(query.constructor);
  const values = query as Readonly<Record<string, unknown>>;
  const filters: Record<string, readonly unknown[] | undefined> = {};
  for (const name of declaration.filters) filters[name] = values[name] as readonly unknown[] | undefined;
  const ranges = rangesOf(values, declaration);
  const { sort = 'id', after } = query;
  const order = sort.startsWith('-') ? 'descending' : 'ascending';
  const sortBy = sort.replace('-', '');
  if (sortBy === 'id') return { filters, ranges, order, after: after as number | undefined };
  const position = typeof after === 'string' ? positionOf(after, sortBy, declaration.sorts[sortBy]!) : undefined;
  return { filters, ranges, sortBy, order, after: position };
}

/** The given bounds by property; `undefined` when there are none. */
function rangesOf(
  query: Readonly<Record<string, unknown>>,
  { bounds }: ListDeclaration,
): Readonly<Record<string, Range>> | undefined {
  let ranges: Record<string, Range> | undefined;
  for (const { parameter, property, end } of bounds) {
    if (query[parameter] === undefined) continue;
    ranges ??= {};
    ranges[property] = { ...ranges[property], [end]: query[parameter] };
  }
  return ranges;
}

/** The value of `after` for the page that follows the record `last`. */
export function afterOf({ sortBy }: Selection, last: number | SortPosition): number | string {
  if (typeof last === 'number' || sortBy === undefined) return last as number;
  return cursorOf(sortBy, last);
}

/** Tells whether the selection has a filter or a range. */
export function isFiltered({ filters = {}, ranges }: Selection): boolean {
  return ranges !== undefined || Object.values(filters).some((values) => values !== undefined);
}
