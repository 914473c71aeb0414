import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidateIf } from 'class-validator';
import type { ResourceName } from '../resource-name.js';

/** Type of a property to sort by or to bound, as in OpenAPI. */
export type ValueType = 'integer' | 'number' | 'decimal' | 'date' | 'date-time';

/** Value types by property. */
export type Sorts = Readonly<Record<string, ValueType>>;

/** A query parameter that bounds a property on one side. */
export interface RangeBound {
  readonly parameter: string;
  readonly property: string;
  readonly end: 'from' | 'to';
  readonly type: ValueType;
}

/** The filters, ranges and sorts that a query class declares. */
export interface ListDeclaration {
  readonly sorts: Sorts;
  /** Filters: parameters with the name of the property. */
  readonly filters: readonly string[];
  readonly bounds: readonly RangeBound[];
}

/** The part of a declaration that belongs to one parameter. */
interface Part {
  readonly list?: ResourceName;
  readonly sorts?: Sorts;
  readonly isFilter?: true;
  readonly bound?: RangeBound;
}

const PART = Symbol('list');
const classes = new WeakMap<ResourceName, Set<object>>();
const declarations = new WeakMap<object, ListDeclaration>();

/** Stores the part as the context of a validator without effect: mapped types, such as `OmitType(...)`, copy it. */
const withPart = (part: Part): PropertyDecorator => ValidateIf(() => true, { context: { [PART]: part } });

/** Marks a parameter that every list of the resource has. */
export function ListParameter(list: ResourceName, sorts: Sorts): PropertyDecorator {
  return (target, property) => {
    withPart({ list, sorts })(target, property);
    register(list, target);
  };
}

/**
 * Marks a filter: it selects records by the property of the same name. Its value is an array.
 * @throws {Error} for a class that does not extend `ListQueryOf(...)`
 */
export function Filter(): PropertyDecorator {
  return (target, property) => {
    register(listOf(target), target);
    withPart({ isFilter: true })(target, property);
  };
}

/**
 * Marks a range parameter.
 * @throws {Error} for a class that does not extend `ListQueryOf(...)`
 */
export function Bound(bound: RangeBound): PropertyDecorator {
  return (target, property) => {
    register(listOf(target), target);
    withPart({ bound })(target, property);
  };
}

/** The declaration of a query class; empty if the class is not made from `ListQueryOf(...)`. */
export function declarationOf(query: object): ListDeclaration {
  let declaration = declarations.get(query);
  if (declaration === undefined) {
    declaration = read(query);
    declarations.set(query, declaration);
  }
  return declaration;
}

/** All declarations for a resource, one for each query class. */
export function declarationsOf(name: ResourceName): readonly ListDeclaration[] {
  return [...(classes.get(name) ?? [])].map(declarationOf);
}

function read(query: object): ListDeclaration {
  const parts = partsOf(query);
  return {
    sorts: parts.find(({ name }) => name === 'sort')?.part.sorts ?? {},
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

function register(name: ResourceName, { constructor }: object): void {
  classes.set(name, (classes.get(name) ?? new Set()).add(constructor));
}

function listOf({ constructor }: object): ResourceName {
  const list = partsOf(constructor).find(({ part }) => part.list !== undefined)?.part.list;
  if (list !== undefined) return list;
  throw new Error(`${constructor.name} has a filter and must extend ListQueryOf(...)`);
}
