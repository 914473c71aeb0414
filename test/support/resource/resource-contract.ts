import type { DynamicModule, Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';
import type { Resource } from '../../../src/resource/resource.js';
import type { WrongValue } from './property-values.js';

export type Body = Readonly<Record<string, unknown>>;

/** The parameters of `describeResource`. Everything else comes from the entity and the OpenAPI document. */
export interface ResourceContract {
  /** Path of the collection, such as `/orders`. */
  readonly path: string;
  /** Properties of a POST body that need certain values because of a rule or a pattern. */
  readonly create?: Body;
  /** Properties of a PUT body that need certain values; each value differs from that in `create`. */
  readonly replace?: Body;
  /** Properties that a rule compares with others, so not every valid value can be stored alone. */
  readonly ruled?: readonly string[];
  /** Further invalid values by property, for which POST and PATCH return 400. */
  readonly invalid?: Readonly<Record<string, readonly unknown[]>>;
  /** Query parameters of the list that your own tests cover, such as a search or a filter by a prefix. */
  readonly otherParameters?: readonly string[];
  /** Properties of the record with this number, if a rule requires different values in each record. */
  readonly distinct?: (count: number) => Body;
  /**
   * POST bodies of the resources that this one refers to, by path, if rules require certain values; a function like
   * `distinct` if they require different values in each record.
   */
  readonly examples?: Readonly<Record<string, Body | ((count: number) => Body)>>;
  /** Modules that `AppModule` does not import, such as that of a test resource. */
  readonly modules?: readonly (Type | DynamicModule)[];
  /** The migrations of these modules. */
  readonly migrations?: readonly MigrationInterface[];
  /** The declaration for the command line, if `src/features.ts` does not list the resource. */
  readonly resource?: Pick<Resource, 'name' | 'createDto' | 'recordDto'>;
}

/** A query parameter that bounds a property. */
export interface RangeBound {
  readonly name: string;
  readonly property: string;
  readonly isStart: boolean;
  readonly schema: any;
}

/** The ranges and sorts of a list. */
export interface RangeParameters {
  readonly bounds: readonly RangeBound[];
  /** Kind of the values of each property that the list can be sorted by. */
  readonly sorts: Readonly<Record<string, string>>;
  /** Filters by properties that the service sets. */
  readonly filters: readonly string[];
}

/** A contract with its derived parts. */
export interface DerivedContract extends ResourceContract {
  /** A valid body of POST with every property. */
  readonly create: Body;
  /** A valid body of PUT that changes each of its properties. */
  readonly replace: Body;
  /** A valid body of PATCH that changes a record of `create`. */
  readonly patch: Body;
  readonly wrong: readonly WrongValue[];
  /** Two valid values for each filter of the list. */
  readonly filters: Readonly<Record<string, readonly [unknown, unknown]>>;
  readonly ranges: RangeParameters;
  /**
   * Paths of other resources by the property that refers to them. Their records 1 and 2 are created first; with UUIDs
   * their ids are `01999999-0000-7000-8000-000000000001` and `...2`.
   */
  readonly references: Readonly<Record<string, string>>;
  /** Properties that refer to the resource itself, which are null in `create` and `replace`. */
  readonly ownReferences: readonly string[];
  /** The paths of `references` and of their own references, parents first. */
  readonly parents: readonly string[];
  /** Paths of GETs that need no token. */
  readonly publicReads: readonly string[];
}
