import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidateIf } from 'class-validator';
import { type Id, INTEGER_IDS } from '../id-kinds.js';
import type { ResourceName } from '../resource.js';
import type { ResourceTable } from '../store/resource-table.js';
import type { Range, Selection, SortPosition } from '../store/selection.js';
import type { Sorts, ValueType } from '../value-parsers.js';
import { cursorOf, positionOf } from './cursor.js';

export interface ListQuery {
  limit?: number;
  after?: number | string;
  sort?: string;
}

export interface RangeBound {
  readonly parameter: string;
  readonly property: string;
  readonly end: 'from' | 'to';
  readonly type: ValueType;
}

interface Part {
  /** Set for the parameters that every list of the resource has, together with `sorts`. */
  readonly list?: ResourceName;
  readonly sorts?: Sorts;
  readonly isFilter?: true;
  readonly bound?: RangeBound;
}

const PART = Symbol('list');

const classes = new WeakMap<ResourceName, Set<object>>();

/**
 * Declares the part of a parameter, in the context of a validator without effect, because mapped types copy it.
 * @throws {Error} for a part without `list` in a class that does not extend `ListQueryOf(...)`
 */
export function ListPart(part: Part): PropertyDecorator {
  return (target, property) => {
    const list = part.list ?? listOf(target);
    classes.set(list, (classes.get(list) ?? new Set()).add(target.constructor));
    ValidateIf(() => true, { context: { [PART]: part } })(target, property);
  };
}

const declarations = new WeakMap<object, ReturnType<typeof readDeclaration>>();

function declarationOf(query: object) {
  const declaration = declarations.get(query) ?? readDeclaration(query);
  declarations.set(query, declaration);
  return declaration;
}

/** The filters, ranges and sorts that a query class declares; none if it is not made from `ListQueryOf(...)`. */
function readDeclaration(query: object) {
  const parts = partsOf(query);
  const sort = parts.find(({ name }) => name === 'sort')?.part;
  return {
    ids: sort?.list?.ids ?? INTEGER_IDS,
    sorts: sort?.sorts ?? {},
    filters: [...new Set(parts.filter(({ part }) => part.isFilter).map(({ name }) => name))],
    bounds: parts.flatMap(({ part }) => part.bound ?? []),
  };
}

function partsOf(query: object): { readonly name: string; readonly part: Part }[] {
  const validators = getMetadataStorage().getTargetValidationMetadatas(query as Type, '', true, false);
  return validators.flatMap(({ propertyName: name, context }) => {
    const part = (context as { [PART]?: Part } | undefined)?.[PART];
    return part === undefined ? [] : [{ name, part }];
  });
}

function listOf({ constructor }: object): ResourceName {
  const list = partsOf(constructor).find(({ part }) => part.list !== undefined)?.part.list;
  if (list !== undefined) return list;
  throw new Error(`${constructor.name} has a filter and must extend ListQueryOf(...)`);
}

/** @throws {Error} for a copy of a query, whose filters are not declared: the list would have all records */
export function selectionOf(query: ListQuery): Selection {
  const { limit: _limit, after: _after, sort: _sort, ...others } = query;
  if (query.constructor === Object && Object.keys(others).length > 0) {
    throw new Error(`A list needs the object of the query class, not a copy with ${Object.keys(others).join(', ')}`);
  }
  const declaration = declarationOf(query.constructor);
  const values = query as Readonly<Record<string, unknown>>;
  const filters: Record<string, readonly unknown[]> = {};
  for (const name of declaration.filters) {
    if (values[name] !== undefined) filters[name] = values[name] as readonly unknown[];
  }
  const ranges: Record<string, Range> = {};
  for (const { parameter, property, end } of declaration.bounds) {
    if (values[parameter] !== undefined) ranges[property] = { ...ranges[property], [end]: values[parameter] };
  }
  const { sort = 'id', after = 0 } = query;
  const order = sort.startsWith('-') ? 'descending' : 'ascending';
  const sortBy = sort.replace('-', '');
  const selection = { filters, ranges, order, sortBy: sortBy === 'id' ? undefined : sortBy } as const;
  if (after === 0) return selection;
  if (sortBy === 'id') return { ...selection, after: { value: after, id: after } };
  const { sorts, ids } = declaration;
  return { ...selection, after: positionOf(String(after), sortBy, sorts[sortBy]!, ids) };
}

/** The value of `after` for the page that follows the record `last`. */
export function afterOf({ sortBy }: Selection, last: SortPosition): Id {
  return sortBy === undefined ? last.id : cursorOf(sortBy, last);
}

export function isFiltered({ sortBy: _sortBy, order: _order, after: _after, ...conditions }: Selection): boolean {
  return Object.values(conditions).some((condition) => Object.keys(condition).length > 0);
}

/** @throws {Error} at the start, for a filter, range or sort whose property is missing, unindexed or of another type */
export function checkLists(name: ResourceName, table: ResourceTable): void {
  for (const { filters, bounds, sorts } of [...(classes.get(name) ?? [])].map(declarationOf)) {
    const json = filters.find((property) => table.column(property).kind === 'json');
    if (json !== undefined) throw new Error(`The list of ${table.name} cannot be filtered by ${json}, which is JSON`);
    for (const property of Object.keys(sorts)) table.sortableColumn(property);
    const types = [...bounds.map(({ property, type }) => [property, type] as const), ...Object.entries(sorts)];
    for (const [property, type] of types) {
      const { kind } = table.column(property);
      if (kind !== type)
        throw new Error(`The list of ${table.name} declares ${property} as ${type}, but its column is ${kind}`);
    }
  }
}
