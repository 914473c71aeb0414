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
import {
  declarationOf,
  declarationOfClass,
  declareList,
  type ListDeclaration,
  type Sorts,
} from './list-declaration.js';
import { AfterParameter, SortParameter } from './order-parameters.js';
import { MAX_LIMIT } from './page.js';

/** What the query of every list may have. */
export interface ListQuery {
  limit?: number;
  /** An id, or a cursor where the list is sorted by a property. */
  after?: number | string;
  sort?: string;
}

export interface ListOptions {
  /**
   * The properties that the list may be sorted by besides the id, and what they are. Each needs an index of its column and the
   * id, or the start ends with what to add.
   */
  readonly sorts?: Sorts;
}

export const LIMIT_ERROR = `must be given once, as a whole number from 1 to ${MAX_LIMIT}`;
const limitError = { message: LIMIT_ERROR };

/**
 * The class that the query of a resource's list extends, as one extends `PickType(...)`: each resource has one of its own, since
 * the document names its type of order.
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
    limit?: number;

    @AfterParameter(sorts)
    after?: number | string;

    @SortParameter(name, sorts)
    sort?: string;
  }
  declareList(name, ResourceListQuery, sorts);
  return ResourceListQuery;
}

/**
 * The parameter selects records by the property of the same name; its value is an array.
 * @throws {Error} for a class that does not extend `ListQueryOf(...)`
 */
export function Filter(): PropertyDecorator {
  return (target, property) => void declarationOfClass(target).filters.push(String(property));
}

/** `Filter` for a property that is one of some words: the parameter may be repeated for "or". */
export function EnumFilter(values: NamedEnum, description: string): PropertyDecorator {
  return applyDecorators(
    Filter(),
    // `@nestjs/swagger` drops what stands beside a named enum.
    ApiPropertyOptional({ ...OR, items: { $ref: getSchemaPath(values.enumName) }, description }),
    IsOptionalNotNull(),
    QueryArray(),
    IsIn(values.enum, { each: true, message: `must be one of ${values.enum.join(', ')}` }),
    ArrayUnique(uniqueError),
  );
}

/** Values of one filter, at most: each number of them is a statement of its own to the engine. */
const MOST_VALUES = 20;

/** `Filter` for a property that is an id, such as a reference: the parameter may be repeated for "or". */
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

/** What a query of a list selects. */
export function selectionOf(query: ListQuery): Selection {
  const declaration = declarationOf(query);
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

/** By property: the bounds that are given; `undefined` without any. */
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

/** What `after` is for the page beyond the record `last` of this selection. */
export function afterOf({ sortBy }: Selection, last: number | SortPosition): number | string {
  if (typeof last === 'number' || sortBy === undefined) return last as number;
  return cursorOf(sortBy, last);
}

/** Whether any filter or range is given. */
export function isFiltered({ filters = {}, ranges }: Selection): boolean {
  return ranges !== undefined || Object.values(filters).some((values) => values !== undefined);
}
