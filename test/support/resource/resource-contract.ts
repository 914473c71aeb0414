import type { DynamicModule, Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';

export type Body = Readonly<Record<string, unknown>>;

/** The parameters of `describeResource`. Everything else comes from the OpenAPI document. */
export interface ResourceContract {
  /** Path of the collection, such as `/orders`. */
  readonly path: string;
  /** A valid body of POST with every property. */
  readonly create: Body;
  /** A valid body of PUT that changes each of its properties. */
  readonly replace: Body;
  /** A valid body of PATCH that changes a record of `create`. */
  readonly patch: Body;
  /** Invalid values by property, for which POST and PATCH return 400, such as a string that is too long. */
  readonly invalid: Readonly<Record<string, readonly unknown[]>>;
  /** Two valid values for each filter of the list. */
  readonly filters?: Readonly<Record<string, readonly [unknown, unknown]>>;
  /** Paths of other resources by the property that refers to them. Their records 1 and 2 are created first;
   * where ids are UUIDs, these are `01999999-0000-7000-8000-000000000001` and `...2`. */
  readonly references?: Readonly<Record<string, string>>;
  /** The paths of `references` and of their own references, parents first. */
  readonly parents?: readonly string[];
  /** Modules that `AppModule` lacks, such as that of a resource which only tests use. */
  readonly modules?: readonly (Type | DynamicModule)[];
  /** The migrations of these modules. */
  readonly migrations?: readonly MigrationInterface[];
}
