import type { Type } from '@nestjs/common';
import type { ResourceName } from '../resource-name.js';

/** What the values of a sorted or bounded property are, in the words of the document. */
export type ValueType = 'integer' | 'number' | 'date-time';

/** By property: what its values are. */
export type Sorts = Readonly<Record<string, ValueType>>;

/** A parameter that is one end of a range. */
export interface RangeBound {
  readonly parameter: string;
  readonly property: string;
  readonly end: 'from' | 'to';
  readonly type: ValueType;
}

/** What the class of a list's query declares besides its limit. */
export interface ListDeclaration {
  readonly sorts: Sorts;
  /** Parameters that select by the property of the same name. */
  readonly filters: string[];
  readonly bounds: RangeBound[];
}

const DECLARATION = Symbol('list');
const NOTHING: ListDeclaration = { sorts: {}, filters: [], bounds: [] };
const declarations = new WeakMap<ResourceName, ListDeclaration[]>();

/** Gives a class its declaration, to which the decorators of the classes that extend it add. */
export function declareList(name: ResourceName, query: Type, sorts: Sorts): void {
  const declaration: ListDeclaration = { sorts, filters: [], bounds: [] };
  Reflect.defineMetadata(DECLARATION, declaration, query.prototype as object);
  declarations.set(name, [...declarationsOf(name), declaration]);
}

/** Of a query, or of the prototype of its class; nothing where the class does not extend `ListQueryOf(...)`. */
export function declarationOf(query: object): ListDeclaration {
  return (Reflect.getMetadata(DECLARATION, query) as ListDeclaration | undefined) ?? NOTHING;
}

/**
 * The same for a decorator to add to.
 * @throws {Error} for a class that does not extend `ListQueryOf(...)`
 */
export function declarationOfClass(prototype: object): ListDeclaration {
  const declaration = declarationOf(prototype);
  if (declaration !== NOTHING) return declaration;
  throw new Error(`${prototype.constructor.name} has a filter and must extend ListQueryOf(...)`);
}

/** What the lists of a resource declare, one for each class. */
export function declarationsOf(name: ResourceName): readonly ListDeclaration[] {
  return declarations.get(name) ?? [];
}
