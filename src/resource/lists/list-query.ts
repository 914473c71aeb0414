import { applyDecorators, type Type } from '@nestjs/common';
import { ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsIn, IsInt, Max, Min } from 'class-validator';
import { IsOptionalNotNull } from '../../http/validation/is-optional-not-null.decorator.js';
import { QueryArray, QueryInteger, QueryIntegers } from '../../http/validation/query-values.js';
import { IsRecordId } from '../record-id.js';
import type { ResourceName } from '../resource-name.js';
import type { Selection } from '../store/selection.js';
import { MAX_LIMIT } from './page.js';

/** By id, ascending or descending. */
export const SORTS = ['id', '-id'] as const;
export type Sort = (typeof SORTS)[number];

/** What the query of every list may have. */
export interface ListQuery {
  limit?: number;
  after?: number;
  sort?: Sort;
}

/** The values make no names, so generators are given some. */
const SORT_SCHEMA = { default: 'id', 'x-enum-varnames': ['IdAscending', 'IdDescending'] };

export const LIMIT_ERROR = `must be given once, as a whole number from 1 to ${MAX_LIMIT}`;
const limitError = { message: LIMIT_ERROR };
const afterError = { message: 'must be given once, as the id of the last record seen, or 0' };

/**
 * The class that the query of a resource's list extends, as one extends `PickType(...)`: each resource has one of its own, since
 * the document names its type of order.
 */
export function ListQueryOf(name: ResourceName): Type<ListQuery> {
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

    @ApiPropertyOptional({
      type: 'integer',
      format: 'int64',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      example: 0,
      description: 'Only records that come after the one with this id; 0 begins at the beginning.',
    })
    @IsOptionalNotNull()
    @QueryInteger()
    @IsInt(afterError)
    @Min(0, afterError)
    after?: number;

    @ApiPropertyOptional({
      enum: SORTS,
      enumName: `${name.typeName}Sort`,
      enumSchema: SORT_SCHEMA,
      description: 'Oldest first (`id`) or newest first (`-id`).',
    })
    @IsOptionalNotNull()
    @IsIn(SORTS, { message: `must be given once, as one of ${SORTS.join(', ')}` })
    sort?: Sort;
  }
  return ResourceListQuery;
}

/** An enum of the document, as `@ApiProperty` takes it. */
export interface NamedEnum {
  readonly enum: readonly string[];
  readonly enumName: string;
}

/** The properties of a query class that `@EnumFilter` and its kin declare. */
const FILTERS = Symbol('filters');

/** The parameter selects records by the property of the same name; its value is an array. */
export function Filter(): PropertyDecorator {
  return (target, property) => {
    const inherited = (Reflect.getMetadata(FILTERS, target) ?? []) as readonly string[];
    Reflect.defineMetadata(FILTERS, [...inherited, String(property)], target);
  };
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
  const names = (Reflect.getMetadata(FILTERS, query) ?? []) as readonly (keyof ListQuery)[];
  const filters: Record<string, readonly unknown[] | undefined> = {};
  for (const name of names) filters[name] = query[name] as unknown as readonly unknown[] | undefined;
  return { filters, order: query.sort === '-id' ? 'descending' : 'ascending', after: query.after };
}

/** Whether any filter is given. */
export function isFiltered({ filters = {} }: Selection): boolean {
  return Object.values(filters).some((values) => values !== undefined);
}
