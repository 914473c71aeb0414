import type { Type } from '@nestjs/common';
import type { ResourceName } from '../resource-name.js';

/** Type of a property to sort by or to bound, as in OpenAPI. */
export type ValueType = 'integer' | 'number' | 'date-time';

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
  readonly filters: string[];
  readonly bounds: RangeBound[];
}

const DECLARATION = Symbol('list');
const NOTHING: ListDeclaration = { sorts: {}, filters: [], bounds: [] };
const declarations = new WeakMap<ResourceName, ListDeclaration[]>();

/** Attaches an empty declaration to a class; decorators of its subclasses add to it. */
export function declareList(name: ResourceName, query: Type, sorts: Sorts): void {
  const declaration: ListDeclaration = { sorts, filters: [], bounds: [] };
  Reflect.defineMetadata(DECLARATION, declaration, query.prototype as object);
  declarations.set(name, [...declarationsOf(name), declaration]);
}

/** The declaration of a query or of the prototype of its class; `undefined` when the class does not extend `ListQueryOf(...)`. */
export function declarationOf(query: object): ListDeclaration {
  return (Reflect.getMetadata(DECLARATION, query) as ListDeclaration | undefined) ?? NOTHING;
}

/**
 * The declaration to which a decorator adds.
 * @throws {Error} for a class that does not extend `ListQueryOf(...)`
 */
export function declarationOfClass(prototype: object): ListDeclaration {
  const declaration = declarationOf(prototype);
  if (declaration !== NOTHING) return declaration;
  throw new Error(`${prototype.constructor.name} has a filter and must extend ListQueryOf(...)`);
}

/** All declarations for a resource, one for each query class. */
export function declarationsOf(name: ResourceName): readonly ListDeclaration[] {
  return declarations.get(name) ?? [];
}
